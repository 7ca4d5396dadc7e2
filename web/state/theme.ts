import type { Theme } from "../lib/page.js";

// The color of a world, made readable: text and its ground differ at least as much as
// WCAG 2.2 asks of text (4.5 to 1).

/** Red, green and blue, from 0 to 255. */
type Rgb = readonly [number, number, number];

/** The grounds of tokens.css on which the accent is written. */
const GROUNDS: Record<"light" | "dark", Rgb> = { light: [238, 238, 243], dark: [36, 36, 45] };
const ENDS: Record<"light" | "dark", Rgb> = { light: [0, 0, 0], dark: [255, 255, 255] };
/** A little above 4.5, as grounds are tinted here and there. */
const CONTRAST = 5.2;

/** A color such as `#1a2b3c`; undefined for any other text. */
export function colorOf(text: unknown): Rgb | undefined {
  const [, hex] = /^#([0-9a-f]{6})$/i.exec(String(text)) ?? [];
  if (hex === undefined) return undefined;
  const [r, g, b] = [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16));
  return [r!, g!, b!];
}

/** How light a color is, from 0 to 1 (WCAG 2.2, relative luminance). */
export function luminance(color: Rgb): number {
  const [r, g, b] = color.map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!;
}

/** The contrast of two colors, from 1 to 21. */
export function contrast(a: Rgb, b: Rgb): number {
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (high! + 0.05) / (low! + 0.05);
}

/** The color nearest to this one that can be read on the ground of a scheme. */
export function readable(color: Rgb, scheme: "light" | "dark"): Rgb {
  for (let share = 0; share < 1; share += 0.04) {
    const mixed = color.map((part, at) =>
      Math.round(part + (ENDS[scheme][at]! - part) * share),
    ) as unknown as Rgb;
    if (contrast(mixed, GROUNDS[scheme]) >= CONTRAST) return mixed;
  }
  return ENDS[scheme];
}

const css = (color: Rgb) => `rgb(${color.join(" ")})`;

const WHITE: Rgb = [255, 255, 255];
const BLACK: Rgb = [0, 0, 0];

/** The color of text on a color: the better of black and white, at least 4.58 to 1. */
export const inkOn = (color: Rgb): "#000" | "#fff" =>
  contrast(color, WHITE) > contrast(color, BLACK) ? "#fff" : "#000";

/**
 * The custom properties of tokens.css that a theme replaces: its color as it is, and one that
 * can be read where it is text itself.
 */
export function themeProperties({ colors }: Theme): Record<string, string> {
  const primary = colorOf(colors?.primary);
  if (!primary) return {};
  const light = css(readable(primary, "light"));
  const dark = css(readable(primary, "dark"));
  return {
    "--brand": css(primary),
    "--on-brand": inkOn(primary),
    "--accent": `light-dark(${light}, ${dark})`,
  };
}
