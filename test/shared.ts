/** The engines that the tests share with other machines; undefined if they use the embedded ones. */
export const shared =
  process.env.STACK === "shared"
    ? await import("./servers/shared.js")
    : undefined;

/**
 * Options of a test that only the embedded engines can pass.
 * @param reason why: it looks into the files of SQLite, for example.
 */
export const embedded = (reason: string): { skip?: string } =>
  shared ? { skip: reason } : {};

/** Files of tests that only the embedded engines can pass, and why; {@link embedded} marks single tests. */
export const embeddedFiles: Readonly<Record<string, string>> = {
  "chat/bytes.test.js": "looks for erased text in the files of SQLite",
  "chat/keeping.test.js": "looks for erased text in the files of SQLite",
  "cli/check.test.js": "damages the files of SQLite and of a folder",
  "cli/restore.test.js": "restores archives that hold the file of SQLite",
};
