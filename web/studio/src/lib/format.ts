/** Numbers, sizes and times as people read them. */

const LOCALE = "en";
const whole = new Intl.NumberFormat(LOCALE);
const relative = new Intl.RelativeTimeFormat(LOCALE, { numeric: "auto" });
const absolute = new Intl.DateTimeFormat(LOCALE, { dateStyle: "medium", timeStyle: "short" });

export function count(number: number): string {
  return whole.format(number);
}

export function plural(number: number, one: string, many = `${one}s`): string {
  return `${count(number)} ${number === 1 ? one : many}`;
}

export function bytes(size: number): string {
  if (size < 1000) return `${size} B`;
  if (size < 999_500) return `${(size / 1000).toPrecision(size < 99_500 ? 2 : 3)} KB`;
  return `${(size / 1_000_000).toPrecision(size < 9_950_000 ? 2 : 3)} MB`;
}

export function duration(milliseconds: number): string {
  if (milliseconds < 995) return `${(milliseconds / 1000).toFixed(2)} s`;
  if (milliseconds < 59_950) return `${(milliseconds / 1000).toFixed(1)} s`;
  const seconds = Math.round(milliseconds / 1000);
  return `${Math.floor(seconds / 60)} min ${String(seconds % 60).padStart(2, "0")} s`;
}

/** Amounts below a cent keep two digits that say something. */
export function money(amount: number, currency: string | null): string {
  const digits = amount === 0 || amount >= 0.01 ? 2 : Math.min(8, 1 - Math.floor(Math.log10(amount)));
  try {
    return new Intl.NumberFormat(LOCALE, {
      style: "currency",
      currency: currency ?? "USD",
      minimumFractionDigits: digits,
      maximumFractionDigits: digits,
    }).format(amount);
  } catch {
    return `${amount.toFixed(digits)} ${currency ?? ""}`.trim();
  }
}

const STEPS: [Intl.RelativeTimeFormatUnit, number][] = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
];

export function ago(time: string, now = Date.now()): string {
  const seconds = (Date.parse(time) - now) / 1000;
  if (Number.isNaN(seconds)) return time;
  for (const [unit, length] of STEPS) {
    if (Math.abs(seconds) >= length) return relative.format(Math.trunc(seconds / length), unit);
  }
  return relative.format(0, "second");
}

export function moment(time: string): string {
  const at = Date.parse(time);
  return Number.isNaN(at) ? time : absolute.format(at);
}

/** Any value that a node passed on, as text. */
export function show(value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}
