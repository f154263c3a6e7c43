/** Saves an answer of the API as a file. A link could not send the session's token. */
import { api, type Query } from "../api/client";

export async function download(path: string, query: Query, fallbackName: string): Promise<void> {
  const response = await api.response(path, { query });
  const disposition = response.headers.get("Content-Disposition") ?? "";
  const name = /filename\*=UTF-8''([^;]+)/i.exec(disposition)?.[1] ?? /filename="([^"]+)"/i.exec(disposition)?.[1];
  saveAs(await response.blob(), name === undefined ? fallbackName : decoded(name));
}

export function saveAs(content: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
