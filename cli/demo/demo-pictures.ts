/** Pictures of the demo, as SVG. They are drawn here, as a package has no room for photos. */

/** Two colors for each picture, from left above to right below. */
const COLORS = [
  ["#0f766e", "#22d3ee"],
  ["#7c3aed", "#f472b6"],
  ["#b45309", "#fbbf24"],
  ["#1d4ed8", "#34d399"],
  ["#be123c", "#fb923c"],
  ["#334155", "#94a3b8"],
] as const;

const svg = (width: number, height: number, n: number, inner: string) => {
  const [from, to] = COLORS[n % COLORS.length]!;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}"><defs><linearGradient id="a" x1="0" y1="0" x2="1" y2="1"><stop stop-color="${from}"/><stop offset="1" stop-color="${to}"/></linearGradient></defs><rect width="${width}" height="${height}" fill="url(#a)"/>${inner}</svg>\n`;
};

const circle = (x: number, y: number, r: number, opacity: number) =>
  `<circle cx="${x}" cy="${y}" r="${r}" fill="#fff" fill-opacity="${opacity}"/>`;

/** The picture of a speaker: a person, with another posture for each number. */
export const portrait = (n: number): string =>
  svg(
    400,
    400,
    n,
    circle(310 - ((n * 37) % 220), 90, 120, 0.12) +
      circle(200, 165, 72, 0.92) +
      `<path d="M60 400c0-92 62-142 140-142s140 50 140 142z" fill="#fff" fill-opacity="0.92"/>`,
  );

/** The picture of a room, or the cover of the event. */
export const scenery = (n: number): string =>
  svg(
    1280,
    720,
    n,
    [0, 1, 2, 3, 4]
      .map((i) =>
        circle(
          (i * 331 + n * 173) % 1280,
          (i * 197 + n * 89) % 720,
          80 + ((i * 71 + n * 43) % 190),
          0.1 + 0.04 * i,
        ),
      )
      .join("") +
      `<path d="M0 600c200-90 420-90 640-20s440 70 640-10v150H0z" fill="#000" fill-opacity="0.18"/>`,
  );
