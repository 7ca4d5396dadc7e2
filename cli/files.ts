import { Command } from "commander";
import type { FileRecord } from "../db/contract/store.js";
import { PAGE_SIZE, pagesAfter } from "../db/results/results.js";
import { deleteFile, findWorld } from "../db/world-management.js";
import { Failure } from "../schemas/plain/failure.js";
import { command, withStore } from "./command.js";
import { type JsonOption, print, printList } from "./output.js";

const toTime = (milliseconds: number) => new Date(milliseconds).toISOString();

/** Converts a file record to the API's field names. */
const toJson = ({ id, key, size, sha256, type, ...file }: FileRecord) => ({
  id,
  path: `/media/${key}`,
  size,
  type,
  user_id: file.userId,
  uploaded_at: toTime(file.uploadedAt),
  key,
  sha256,
});

const listFiles = command(
  "list <world>",
  "list the files of a world, newest first",
  "file list summit --json",
).action((world: string, { json }: JsonOption) =>
  withStore(async (store) => {
    await findWorld(store, world);
    const all = pagesAfter<FileRecord>(PAGE_SIZE, async (last) => {
      const after = last && [last.uploadedAt, last.number];
      const asked = { page: 1, pageSize: PAGE_SIZE, after };
      return (await store.files.list(world, asked)).files;
    });
    const items = (async function* () {
      for await (const files of all) yield* files.map(toJson);
    })();
    await printList(
      json,
      items,
      ({ id, size, type, uploaded_at, user_id }) => [
        id,
        String(size),
        type,
        uploaded_at,
        user_id ?? "nobody",
      ],
      "There are no uploads yet.",
    );
  }),
);

const showFile = command(
  "show <world> <file-id>",
  "print the record of a file, and whether its bytes exist",
  "file show summit 0d6f1a3e-8c1b-4a55-9f5e-2f6d4c7a9b10",
).action((world: string, id: string, { json }: JsonOption) =>
  withStore(async (store, files) => {
    await findWorld(store, world);
    const file = await store.files.get(world, id);
    if (!file) throw new Failure(`There is no file ${id} in ${world}.`);
    const isThere = (await files.open(file.key)) !== undefined;
    const shown = { ...toJson(file), is_there: isThere };
    print(json, shown, [
      `File      ${shown.id}`,
      `Path      ${shown.path}`,
      `Type      ${shown.type}`,
      `Size      ${shown.size} bytes`,
      `SHA-256   ${shown.sha256}`,
      `Uploaded  ${shown.uploaded_at}`,
      `User      ${shown.user_id ?? "nobody"}`,
      `Key       ${shown.key}`,
      `Bytes     ${shown.is_there ? "present" : "missing; run foyer check"}`,
    ]);
  }),
);

const deleteOneFile = command(
  "delete <world> <file-id>",
  "delete a file and its record",
  "file delete summit 0d6f1a3e-8c1b-4a55-9f5e-2f6d4c7a9b10 --yes",
)
  .requiredOption("--yes", "confirm the deletion, which cannot be undone")
  .action(async (world: string, id: string, { json }: JsonOption) => {
    await withStore(async (store, files) => {
      await findWorld(store, world);
      await deleteFile({ store, files }, world, id);
    });
    print(json, { deleted: id }, [`Deleted the file ${id}.`]);
  });

/** `foyer file …` */
export const fileCommand = new Command("file")
  .description("list, show and delete the files of a world")
  .addCommand(listFiles)
  .addCommand(showFile)
  .addCommand(deleteOneFile);
