import { Command } from "commander";
import { polls } from "../db/results/polls.js";
import { questions } from "../db/results/questions.js";
import type { Results } from "../db/results/results.js";
import {
  printRecords,
  recordsCommand,
  type RecordsOptions,
} from "./records.js";

/**
 * The commands of a kind of items of a room.
 * @param name of one item.
 * @param shows what is printed with the items.
 */
const itemCommand = <T extends object>(
  name: string,
  results: Results<T>,
  shows: string,
) =>
  new Command(name)
    .description(`print the ${name}s of a world with their ${shows}`)
    .addCommand(
      recordsCommand(
        "results <world>",
        `print the ${name}s of the rooms of a world with their ${shows}, the oldest first`,
        `${name} results summit --room "Main stage" --format csv > ${name}s.csv`,
      ).action((world: string, options: RecordsOptions) =>
        printRecords(world, options, results),
      ),
    );

/** `foyer question …` */
export const questionCommand = itemCommand("question", questions, "votes");

/** `foyer poll …` */
export const pollCommand = itemCommand("poll", polls, "results");
