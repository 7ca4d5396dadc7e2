import { Command } from "commander";
import { polls } from "../db/results/polls.js";
import {
  printRecords,
  recordsCommand,
  type RecordsOptions,
} from "./records.js";

const printResults = recordsCommand(
  "results <world>",
  "print the polls of the rooms of a world with their results, the oldest first",
  'poll results summit --room "Main stage" --format csv > polls.csv',
).action((world: string, options: RecordsOptions) =>
  printRecords(world, options, polls),
);

/** `foyer poll …` */
export const pollCommand = new Command("poll")
  .description("print the results of the polls of a world")
  .addCommand(printResults);
