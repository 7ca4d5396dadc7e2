#!/usr/bin/env node
import { readFileSync } from "node:fs";
import { Command, CommanderError } from "commander";
import { StoreError } from "../db/store.js";
import { archiveCommands } from "./archive.js";
import { Failure } from "../failure.js";
import { copyCommands } from "./copies.js";
import { fileCommand } from "./files.js";
import { warn } from "./output.js";
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
addHelp(foyer);
letThrow(foyer);

// Whoever reads the output may want only its beginning, as `head` does.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") process.exitCode = report(error);
});

try {
  await foyer.parseAsync();
} catch (error) {
  process.exitCode = report(error);
}

/** Adds `help [command...]` to a group and to those in it. Commander's own takes one word only. */
function addHelp(group: Command): void {
  if (group.commands.length === 0) return;
  group.commands.forEach(addHelp);
  group.helpCommand(false).addCommand(
    new Command("help")
      .argument("[command...]", "as it is called, such as: world create")
      .description("display help for a command")
      .action((names: string[]) => {
        let found = group;
        for (const name of names) {
          const next = found.commands.find((one) => one.name() === name);
          if (!next) return found.error(`unknown command '${name}'`);
          found = next;
        }
        found.help();
      }),
  );
}

/**
 * Makes Commander throw its errors at every level. By itself, it would print
 * them in a manner of its own and exit with 1.
 */
function letThrow(command: Command): void {
  command.exitOverride().configureOutput({ outputError: () => {} });
  command.commands.forEach(letThrow);
}

/**
 * Tells the operator what went wrong.
 * @returns the exit code that belongs to it.
 */
function report(error: unknown): number {
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return 0;
    // Of a group without a command, the help was printed instead.
    if (error.code !== "commander.help") warn(usageFault(error));
    return 2;
  }
  if (!(error instanceof Error)) throw error;
  const isExpected =
    error instanceof Failure ||
    error instanceof StoreError ||
    "syscall" in error;
  if (isExpected) {
    const advice = adviceOn(error);
    warn(`${error.message}${advice && `; ${advice}`}`);
  } else {
    // A fault of Foyer itself: only its stack tells where. What still runs must
    // not keep the process up.
    (error.stack ?? error.message).split("\n").forEach(warn);
    process.exit(1);
  }
  return 1;
}

/** What Commander says of wrong usage, as one line in the manner of Foyer. */
function usageFault({ message }: CommanderError): string {
  return message.replace(/^error: /, "").replace(/\n(?=\(Did you mean )/, " ");
}

function adviceOn(error: Error): string {
  const reason = (error.cause ?? error) as { problem?: string; code?: string };
  const { problem, code } = reason;
  if (problem === "busy") return "another process is writing, so try again";
  if (problem === "full" || code === "ENOSPC" || code === "EDQUOT") {
    return "make room on the disk, and try again";
  }
  return "";
}
