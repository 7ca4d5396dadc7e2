import { Command, CommanderError } from "commander";
import { StoreError } from "../db/contract/store.js";
import { Failure } from "../schemas/plain/failure.js";
import { version } from "../schemas/plain/version.js";
import { archiveCommands } from "./archive.js";
import { auditCommand } from "./audit.js";
import { conformanceCommand } from "./conformance.js";
import { connectionsCommand } from "./connections.js";
import { fileCommand } from "./files.js";
import { type Context, context, warn, within } from "./output.js";
import { programCommand } from "./program.js";
import { chatCommand, pollCommand, questionCommand } from "./records.js";
import { serveCommand } from "./serve.js";
import { tokenCommand } from "./token.js";
import { userCommand } from "./users.js";
import { copyCommands } from "./world-export-import.js";
import { worldCommand } from "./worlds.js";

copyCommands.forEach((copying) => worldCommand.addCommand(copying));

const foyer = new Command("foyer")
  .description(
    "A server for online events: rooms with chat, questions, polls and streams, pages for attendees and hosts, a JSON API and a websocket.",
  )
  .version(version)
  .addCommand(serveCommand)
  .addCommand(worldCommand)
  .addCommand(tokenCommand)
  .addCommand(userCommand)
  .addCommand(auditCommand)
  .addCommand(fileCommand)
  .addCommand(chatCommand)
  .addCommand(questionCommand)
  .addCommand(pollCommand)
  .addCommand(programCommand)
  .addCommand(connectionsCommand)
  .addHelpText(
    "after",
    "\nEvery command exits with 0, 1 (it failed, and says why) or 2 (wrong usage).\nThe variables it reads: foyer help serve",
  );
archiveCommands.forEach((archiving) => foyer.addCommand(archiving));
foyer.addCommand(conformanceCommand);
addHelp(foyer);
letThrow(foyer);

/**
 * Runs a command. Several may run at once, each with its own context.
 * @param args as after `foyer` on a command line.
 * @param own instead of what the process has.
 * @returns the exit code. Errors go to stderr.
 * @throws a fault of Foyer itself.
 */
export async function run(args: readonly string[], own?: Context): Promise<number> {
  if (own) return within(own, () => run(args));
  try {
    await foyer.parseAsync(args, { from: "user" });
    return 0;
  } catch (error) {
    return report(error);
  }
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
 * Makes Commander throw its errors and print where the context says, at every
 * level. By itself, it would print them in a manner of its own and exit with 1.
 */
function letThrow(command: Command): void {
  command.exitOverride().configureOutput({
    outputError: () => {},
    writeOut: (text) => void context().stdout.write(text),
    writeErr: (text) => void context().stderr.write(text),
  });
  command.commands.forEach(letThrow);
}

/**
 * Tells the operator what went wrong.
 * @returns the exit code that belongs to it.
 * @throws the error, if it is a fault of Foyer itself.
 */
export function report(error: unknown): number {
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return 0;
    // Of a group without a command, the help was printed instead.
    if (error.code !== "commander.help") warn(usageFault(error));
    return 2;
  }
  const isExpected =
    error instanceof Failure ||
    error instanceof StoreError ||
    (error instanceof Error && "syscall" in error);
  if (!isExpected) throw error;
  const advice = adviceOn(error);
  warn(`${error.message}${advice && `; ${advice}`}`);
  return 1;
}

/** The message of Commander about wrong usage, as one line in the style of Foyer. */
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
