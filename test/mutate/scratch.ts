import { spawn } from "node:child_process";
import {
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import ts from "typescript";
import type { Mutant } from "./mutants.js";

/** Not part of the copy, or copied for itself. */
const OWN = new Set(["dist", ".git"]);

/** A copy of the compiled project, in which one file at a time is broken. */
export class Scratch {
  readonly folder = mkdtempSync(join(tmpdir(), "foyer-mutate-"));
  readonly #root: string;

  /** @param root the folder of the project, which is built. */
  constructor(root: string) {
    this.#root = root;
    for (const name of readdirSync(root)) {
      if (!OWN.has(name))
        symlinkSync(join(root, name), join(this.folder, name));
    }
    cpSync(join(root, "dist"), this.dist, { recursive: true });
  }

  get dist(): string {
    return join(this.folder, "dist");
  }

  /**
   * Breaks the project.
   * @returns mends it.
   * @throws {Error} if the text of the mutant does not occur once.
   */
  break({ file, text, by }: Mutant): () => void {
    const source = readFileSync(join(this.#root, file), "utf8");
    if (source.split(text).length !== 2) {
      throw new Error(`${file} does not have once: ${text}`);
    }
    const { outputText } = ts.transpileModule(
      source.replace(text, () => by),
      {
        compilerOptions: {
          module: ts.ModuleKind.ESNext,
          target: ts.ScriptTarget.ES2023,
          verbatimModuleSyntax: true,
        },
      },
    );
    const path = join(this.dist, file.replace(/\.ts$/, ".js"));
    const whole = readFileSync(path);
    if (outputText === whole.toString()) {
      throw new Error(`${file} is the same with: ${by}`);
    }
    writeFileSync(path, outputText);
    return () => writeFileSync(path, whole);
  }

  /**
   * Runs a file of tests up to its first failure.
   * @param timeout in milliseconds. A file that takes longer fails.
   */
  passes(file: string, timeout: number): Promise<boolean> {
    // In a group of its own, as tests start processes. The bound of tap is another one.
    const child = spawn(process.execPath, [join(this.dist, file)], {
      cwd: this.folder,
      detached: true,
      env: { ...process.env, TAP_BAIL: "1", TAP_TIMEOUT: "600" },
      stdio: "ignore",
    });
    const end = () => {
      try {
        process.kill(-child.pid!, "SIGKILL");
      } catch {
        // All of them have ended.
      }
    };
    const timer = setTimeout(end, timeout);
    process.once("exit", end);
    return new Promise((resolve, reject) => {
      child.once("error", reject);
      child.once("close", (code) => {
        clearTimeout(timer);
        end();
        process.removeListener("exit", end);
        resolve(code === 0);
      });
    });
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
