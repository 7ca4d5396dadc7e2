import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";

// `npm run check:audit` fails if a shipped package has a known vulnerability, and prints advisories
// about development tools. A registry that does not respond is reported, because no response does
// not mean no vulnerability. With AUDIT=required, it is an error.

interface Audit {
  /** Missing if the registry does not support audits. */
  metadata?: object;
  vulnerabilities: Record<string, { severity: string; range: string }>;
}

/** Returns the names of the server's optional packages and of their dependencies. */
function optionalPackages(): Set<string> {
  const { peerDependencies } = JSON.parse(readFileSync("package.json", "utf8")) as {
    peerDependencies: Record<string, string>;
  };
  const selector = Object.keys(peerDependencies)
    .map((name) => `[name="${name}"], [name="${name}"] *`)
    .join(", ");
  const found = execFileSync("npm", ["query", selector], { encoding: "utf8" });
  return new Set((JSON.parse(found) as { name: string }[]).map(({ name }) => name));
}

interface Finding {
  name: string;
  line: string;
}

/** Returns the findings of `npm audit`; undefined if the registry does not support it. */
function audit(...args: string[]): Finding[] | undefined {
  const { stdout } = spawnSync("npm", ["audit", "--json", ...args], {
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
  });
  const { metadata, vulnerabilities } = JSON.parse(stdout) as Audit;
  if (!metadata) return undefined;
  return Object.entries(vulnerabilities).map(([name, { severity, range }]) => ({
    name,
    line: `${severity}: ${name} ${range}`,
  }));
}

const required = audit("--omit=dev");
const all = audit();
if (!required || !all) {
  console.error("NOT CHECKED: this registry does not answer npm audit.");
  process.exitCode = process.env.AUDIT === "required" ? 1 : 0;
} else {
  const names = new Set(required.map(({ name }) => name));
  const optional = optionalPackages();
  const isShipped = ({ name }: Finding) => names.has(name) || optional.has(name);
  const shipped = all.filter(isShipped);
  const tools = all.filter((finding) => !isShipped(finding));
  for (const { line } of shipped) console.error(line);
  for (const { line } of tools) console.log(`${line} (development only)`);
  console.log(`${shipped.length} shipped, ${tools.length} in development.`);
  process.exitCode = shipped.length > 0 ? 1 : 0;
}
