/** Geometry of a small line chart: pure numbers, drawn as SVG by Chart.svelte. */

export interface Series {
  name: string;
  values: number[];
}

export interface ChartShape {
  width: number;
  height: number;
  left: number;
  bottom: number;
  /** Lines of the grid, with their value. */
  ticks: { y: number; value: number }[];
  /** Positions of the labels below. */
  x: number[];
  paths: string[];
}

const WIDTH = 640;
const HEIGHT = 200;
const LEFT = 64;
const TOP = 12;
const BOTTOM = 28;
const RIGHT = 12;

/** The next 1, 2 or 5 times a power of ten. */
export function niceTop(most: number): number {
  if (most <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(most));
  return ([1, 2, 5, 10].find((factor) => factor * power >= most) ?? 10) * power;
}

/** How many parts of the same whole size the axis has. */
function wholeSteps(top: number): number {
  return [4, 5, 2, 1].find((steps) => top % steps === 0) ?? 1;
}

/** `isWhole`: the values are counted, so a line of the grid between two numbers would mean nothing. */
export function shape(series: readonly Series[], isWhole = false): ChartShape {
  const points = Math.max(0, ...series.map(({ values }) => values.length));
  const top = niceTop(Math.max(0, ...series.flatMap(({ values }) => values)));
  const wide = WIDTH - LEFT - RIGHT;
  const tall = HEIGHT - TOP - BOTTOM;
  const xOf = (index: number) => round(LEFT + (points < 2 ? wide / 2 : (index * wide) / (points - 1)));
  const yOf = (value: number) => round(TOP + tall * (1 - value / top));
  const steps = isWhole ? wholeSteps(top) : 4;
  return {
    width: WIDTH,
    height: HEIGHT,
    left: LEFT,
    bottom: HEIGHT - BOTTOM,
    ticks: Array.from({ length: steps + 1 }, (_, index) => {
      const value = (top * index) / steps;
      return { y: yOf(value), value };
    }),
    x: Array.from({ length: points }, (_, index) => xOf(index)),
    paths: series.map(({ values }) =>
      values.map((value, index) => `${index === 0 ? "M" : "L"}${xOf(index)} ${yOf(value)}`).join(""),
    ),
  };
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

/** All days from one to another, both included, as dates without a time. */
export function days(from: string, to: string): string[] {
  const all: string[] = [];
  for (let at = Date.parse(from); at <= Date.parse(to) && all.length < 400; at += 86_400_000) {
    all.push(new Date(at).toISOString().slice(0, 10));
  }
  return all;
}
