import { encode } from "uqr";

/** A QR code as one path on a grid of `size` by `size`, with a quiet zone around. */
export interface Qr {
  readonly size: number;
  /** Each dark module, as the `d` of an SVG path. */
  readonly path: string;
}

/** The capacity of a QR code at the lowest level of correction, in bytes. */
const MAX_BYTES = 2900;

/** A QR code for a text; undefined if the text is too long for one. */
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

/** A QR code as an SVG file. */
export const svgOf = ({ size, path }: Qr): string =>
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size} ${size}" ` +
  `width="${size * 8}" height="${size * 8}" shape-rendering="crispEdges">` +
  `<path fill="#fff" d="M0 0h${size}v${size}H0z"/>` +
  `<path fill="#000" d="${path}"/></svg>\n`;
