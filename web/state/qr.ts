import { encode } from "uqr";

/** A QR code as a single path on a grid of `size` by `size`, including the quiet zone. */
export interface Qr {
  readonly size: number;
  /** All dark modules, as the `d` attribute of an SVG path. */
  readonly path: string;
}

/** Capacity of a QR code at the lowest error correction level, in bytes. */
const MAX_BYTES = 2900;

/** Encodes text as a QR code. Returns undefined if the text is too long. */
export function qrOf(text: string): Qr | undefined {
  if (new TextEncoder().encode(text).length > MAX_BYTES) return undefined;
  const { data, size } = encode(text, { ecc: "L", border: 4 });
  let path = "";
  data.forEach((row, y) =>
    row.forEach((isDark, x) => {
      if (isDark) path += `M${x} ${y}h1v1h-1z`;
    }),
  );
  return { size, path };
}

/** Renders a QR code as an SVG file. */
export const svgOf = ({ size, path }: Qr): string =>
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size} ${size}" ` +
  `width="${size * 8}" height="${size * 8}" shape-rendering="crispEdges">` +
  `<path fill="#fff" d="M0 0h${size}v${size}H0z"/>` +
  `<path fill="#000" d="${path}"/></svg>\n`;
