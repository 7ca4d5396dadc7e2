#!/usr/bin/env node
import { readFileSync } from "node:fs";
import { Command, CommanderError } from "commander";
import { StoreError } from "../db/store.js";
import { archiveCommands } from "./archive.js";
import { Failure } from "../failure.js";
import { copyCommands } from "./copies.js";
import { fileCommand } from "./files.js";
import { serveCommand } from "./serve.js";
import { tokenCommand } from "./token.js";
import { userCommand } from "./users.js";
import { worldCommand } from "./worlds.js";

copyCommands.forEach((copying) => worldCommand.addCommand(copying));

const { version } = JSON.parse(
  readFileSync(new URL("../../package.json", import.meta.url), "utf8"),
) as { version: string };

const foyer = new Command("foyer")
  .description("An event rooms server: worlds with rooms, behind a JSON API.")
  .version(version)
  .addCommand(serveCommand)
  .addCommand(worldCommand)
  .addCommand(tokenCommand)
  .addCommand(userCommand)
  .addCommand(fileCommand)
  .addHelpText(
    "after",
    "\nEvery command exits with 0, 1 (it failed, and says why) or 2 (wrong usage).\nThe variables it reads: foyer help serve",
  );
archiveCommands.forEach((archiving) => foyer.addCommand(archiving));
withExits(foyer);

// Whoever reads the output may want only its beginning, as `head` does.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") process.exitCode = exitCodeOf(error);
});

try {
  await foyer.parseAsync();
} catch (error) {
  process.exitCode = exitCodeOf(error);
}

/** Commander is told to throw at every level, as it would exit with 1 on wrong usage. */
function withExits(command: Command): void {
  command.exitOverride();
  command.commands.forEach(withExits);
}

function exitCodeOf(error: unknown): number {
  // Commander has printed its own errors already, and help is none.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  const expected =
    error instanceof Failure ||
    error instanceof StoreError ||
    (error instanceof Error && "syscall" in error);
  if (!expected) throw error;
  const advice = adviceOn(error);
  process.stderr.write(`foyer: ${error.message}${advice && `; ${advice}`}\n`);
  return 1;
}

function adviceOn(error: Error): string {
  const { problem, code } = error as { problem?: string; code?: string };
  if (problem === "busy") return "another process is writing, so try again";
  if (problem === "full" || code === "ENOSPC" || code === "EDQUOT") {
    return "make room on the disk, and try again";
  }
  return "";
}
