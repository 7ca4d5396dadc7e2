import { Command } from "commander";
import { chat, directEvents } from "../db/results/chat.js";
import {
  printRecords,
  recordsCommand,
  type RecordsOptions,
} from "./records.js";

const exportChat = recordsCommand(
  "export <world>",
  "print all messages and other events of the rooms of a world, the oldest first",
  'chat export summit --room "Main stage" --format csv > chat.csv',
)
  .option("--direct", "also direct messages")
  .action(
    (
      world: string,
      { direct, ...options }: RecordsOptions & { direct?: boolean },
      self: Command,
    ) => {
      if (direct && options.room !== undefined) {
        self.error("direct messages belong to no room");
      }
      const elsewhere = direct ? directEvents : undefined;
      return printRecords(world, options, chat, elsewhere);
    },
  );

/** `foyer chat …` */
export const chatCommand = new Command("chat")
  .description("export the chat of a world")
  .addCommand(exportChat);
