import { spawnSync } from "node:child_process";

// `npm run check:audit` fails on a known vulnerability of a shipped package, and
// prints those of development tools. A registry that does not answer is reported,
// because no answer is not the same as no vulnerability. With AUDIT=required it is
// an error.

interface Audit {
  /** Missing if the registry does not support audits. */
  metadata?: object;
  vulnerabilities: Record<string, { severity: string; range: string }>;
}

/** The findings of `npm audit`; undefined if the registry does not support it. */
function audit(...args: string[]): string[] | undefined {
  const { stdout } = spawnSync("npm", ["audit", "--json", ...args], {
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
  });
  const { metadata, vulnerabilities } = JSON.parse(stdout) as Audit;
  if (!metadata) return undefined;
  return Object.entries(vulnerabilities).map(
    ([name, { severity, range }]) => `${severity}: ${name} ${range}`,
  );
}

const shipped = audit("--omit=dev");
const all = audit();
if (!shipped || !all) {
  console.error("NOT CHECKED: this registry does not answer npm audit.");
  process.exitCode = process.env.AUDIT === "required" ? 1 : 0;
} else {
  const tools = all.filter((line) => !shipped.includes(line));
  for (const line of shipped) console.error(line);
  for (const line of tools) console.log(`${line} (development only)`);
  console.log(`${shipped.length} shipped, ${tools.length} in development.`);
  process.exitCode = shipped.length > 0 ? 1 : 0;
}
