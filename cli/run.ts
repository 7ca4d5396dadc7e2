import { Command, CommanderError } from "commander";
import { StoreError } from "../db/contract/store.js";
import { Failure } from "../schemas/plain/failure.js";
import { version } from "../schemas/plain/version.js";
import { archiveCommands } from "./archive.js";
import { auditCommand } from "./audit.js";
import { conformanceCommand } from "./conformance.js";
import { connectionsCommand } from "./connections.js";
import { fileCommand } from "./files.js";
import { inviteCommand } from "./invite.js";
import { type CliContext, context, warn, within } from "./output.js";
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
  .addCommand(inviteCommand)
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
    "\nEvery command exits with 0, 1 (it failed, with the reason) or 2 (incorrect usage).\nEnvironment variables: foyer help serve",
  );
archiveCommands.forEach((archiving) => foyer.addCommand(archiving));
foyer.addCommand(conformanceCommand);
addHelp(foyer);
letThrow(foyer);

/**
 * Runs a command. Several commands may run concurrently, each with its own context.
 * @param args the arguments after `foyer` on a command line.
 * @param own the context to use instead of the process.
 * @returns the exit code. Errors are printed to stderr.
 * @throws any error that is a bug in Foyer itself.
 */
export async function run(args: readonly string[], own?: CliContext): Promise<number> {
  if (own) return within(own, () => run(args));
  try {
    await foyer.parseAsync(args, { from: "user" });
    return 0;
  } catch (error) {
    return report(error);
  }
}

/**
 * Adds `help [command...]` to a group and its subgroups. Commander's own help command accepts only
 * one command name.
 */
function addHelp(group: Command): void {
  if (group.commands.length === 0) return;
  group.commands.forEach(addHelp);
  group.helpCommand(false).addCommand(
    new Command("help")
      .argument("[command...]", "the command, such as: world create")
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
 * Makes a command and all its subcommands throw Commander's errors and print to the context. By
 * default, Commander would print errors in its own format and exit with 1.
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
 * Reports an error to the operator.
 * @returns the matching exit code.
 * @throws the error, if it is a bug in Foyer itself.
 */
export function report(error: unknown): number {
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return 0;
    // If a group was called without a command, the help has already been printed.
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

/** Formats Commander's usage error as one line in Foyer's style. */
function usageFault({ message }: CommanderError): string {
  return message.replace(/^error: /, "").replace(/\n(?=\(Did you mean )/, " ");
}

function adviceOn(error: Error): string {
  const reason = (error.cause ?? error) as { problem?: string; code?: string };
  const { problem, code } = reason;
  if (problem === "busy") return "another process is writing; try again";
  if (problem === "full" || code === "ENOSPC" || code === "EDQUOT") {
    return "free up disk space, and try again";
  }
  return "";
}
