import { goalText, type Result } from "./rounds.js";

const ROW = 26;
const LEFT = 300;
const WIDTH = 420;
/** The position of a goal, from the left. */
const GOAL = WIDTH / 2;

/** An SVG with a bar for each work. All goals are on one line. */
export function picture(results: Result[]): string {
  const height = ROW * (results.length + 2);
  const rows = results.map(
    ({ name, goal, median, lowest, highest, met }, n) => {
      // If less is better, the bar shows how many times the value is below its goal.
      const reached = (ratio: number) =>
        goal.atLeast !== undefined
          ? ratio / goal.atLeast
          : (goal.atMost ?? ratio) / ratio;
      const x = (ratio: number) =>
        LEFT + Math.min(WIDTH, GOAL * reached(ratio));
      const y = ROW * (n + 1);
      const [from, to] = [x(lowest), x(highest)].sort((a, b) => a - b);
      return `<text x="${LEFT - 10}" y="${y + 5}" text-anchor="end">${name}</text>
<rect x="${LEFT}" y="${y - 8}" width="${x(median) - LEFT}" height="16" fill="${met ? "#4c8c5a" : "#c0603a"}"/>
<line x1="${from}" x2="${to}" y1="${y}" y2="${y}" stroke="#222" stroke-width="1.5"/>
<text x="${LEFT + WIDTH + 10}" y="${y + 5}">${Number(median.toPrecision(3))} (goal ${goalText(goal)})</text>`;
    },
  );
  const line = LEFT + GOAL;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${LEFT + WIDTH + 170} ${height}" font-family="sans-serif" font-size="13">
<title>How far each goal is reached: medians, with the spread of the rounds</title>
<rect width="100%" height="100%" fill="#fff"/>
${rows.join("\n")}
<line x1="${line}" x2="${line}" y1="8" y2="${height - ROW}" stroke="#222" stroke-dasharray="3 3"/>
<text x="${line}" y="${height - 10}" text-anchor="middle">the goal</text>
</svg>
`;
}
