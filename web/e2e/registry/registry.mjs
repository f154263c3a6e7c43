// Starts the registry with sample skills on a free port, and signs users in.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const BINARY =
  process.env.PROWESS_SAMPLE_REGISTRY ??
  fileURLToPath(new URL("../../../target/debug/examples/sample_registry", import.meta.url));

export const PASSWORD = "correct horse battery";

/** A running registry: `origin`, and `stop()`. */
export async function startRegistry() {
  const child = spawn(BINARY, { stdio: ["pipe", "pipe", "inherit"] });
  const failed = once(child, "exit").then(([code]) => {
    throw new Error(
      `${BINARY} ended with ${code}; build it with cargo build -p prowess-registry --example sample_registry`,
    );
  });
  failed.catch(() => {});
  const [origin] = await Promise.race([once(createInterface({ input: child.stdout }), "line"), failed]);
  const stop = async () => {
    const ended = once(child, "exit");
    child.stdin.end();
    await ended;
  };
  return { origin, stop };
}

/** Signs a user in through the form. */
export async function signIn(page, username, code) {
  await page.goto("/sign-in");
  await page.getByLabel("Username").fill(username);
  await page.getByLabel("Password").fill(PASSWORD);
  if (code !== undefined) await page.getByLabel("Code from your authenticator").fill(code);
  await page.getByRole("main").getByRole("button", { name: "Sign in" }).click();
}
