import { spawn } from "node:child_process";
import { delimiter } from "node:path";

/** A command that failed, with the end of what it said. */
export class CommandError extends Error {}

/** A tool that cannot be installed here: no fault of the document. */
export class Unavailable extends Error {}

/** How many milliseconds one command may take. */
const PATIENCE = 600_000;

/**
 * Runs a command.
 * @param env what it sees beside the environment of this process.
 * @returns what it said on stdout.
 * @throws {CommandError}
 */
export function run(
  cwd: string,
  command: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd,
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "pipe"],
      timeout: PATIENCE,
    });
    let stdout = "";
    let said = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
      said += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      said += text;
    });
    const fail = (why: string) =>
      reject(
        new CommandError(
          `${command} ${args.join(" ")}: ${why}\n${said.slice(-4000)}`,
        ),
      );
    child.once("error", ({ message }) => fail(message));
    child.once("close", (code, signal) => {
      if (code === 0) resolve(stdout);
      else fail(`ended with ${code ?? signal}`);
    });
  });
}

/**
 * Runs a command that installs something.
 * @throws {Unavailable} if it cannot be had.
 */
export async function install(
  ...command: Parameters<typeof run>
): Promise<void> {
  try {
    await run(...command);
  } catch (error) {
    throw new Unavailable((error as Error).message);
  }
}

/** Installs packages of npm, in exact versions, into a folder. */
export async function npm(
  folder: string,
  ...packages: string[]
): Promise<void> {
  await install(folder, "npm", ["init", "-y"]);
  const flags = ["--no-audit", "--no-fund", "--ignore-scripts", "--save-exact"];
  await install(folder, "npm", ["install", ...flags, ...packages]);
}

/** The environment with a folder of programs in front of all others. */
export const withPath = (folder: string): Record<string, string> => ({
  PATH: `${folder}${delimiter}${process.env.PATH}`,
});
