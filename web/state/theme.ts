import type { Theme } from "../lib/page.js";

// Makes a world's color readable: the contrast between text and its background is at least the
// contrast that WCAG 2.2 requires for text (4.5 to 1).

/** Red, green and blue, from 0 to 255. */
type Rgb = readonly [number, number, number];

/** The backgrounds in tokens.css for text in the accent color. */
const GROUNDS: Record<"light" | "dark", Rgb> = { light: [238, 238, 243], dark: [36, 36, 45] };
const ENDS: Record<"light" | "dark", Rgb> = { light: [0, 0, 0], dark: [255, 255, 255] };
/** The minimum contrast, slightly above 4.5 because some backgrounds are tinted. */
const CONTRAST = 5.2;

/** Parses a color such as `#1a2b3c`. Returns undefined for any other text. */
export function colorOf(text: unknown): Rgb | undefined {
  const [, hex] = /^#([0-9a-f]{6})$/i.exec(String(text)) ?? [];
  if (hex === undefined) return undefined;
  const [r, g, b] = [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16));
  return [r!, g!, b!];
}

/** Returns a color's relative luminance, from 0 to 1 (WCAG 2.2). */
export function luminance(color: Rgb): number {
  const [r, g, b] = color.map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!;
}

/** Returns the contrast between two colors, from 1 to 21. */
export function contrast(a: Rgb, b: Rgb): number {
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (high! + 0.05) / (low! + 0.05);
}

/** Returns the closest color that is readable on a scheme's background. */
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

/** Returns the text color for a background: black or white, whichever contrasts more (at least 4.58 to 1). */
export const inkOn = (color: Rgb): "#000" | "#fff" =>
  contrast(color, WHITE) > contrast(color, BLACK) ? "#fff" : "#000";

/**
 * Returns the custom properties of tokens.css that a theme overrides: its color, and a variant that
 * is readable as text.
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
