/** The secret in the name of a file, `<id>.<secret>.<extension>`, and the part before it. */
const SECRET = /([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\.)[\w-]{12}(?=\.)/gi;

/** A text without the secrets of files: the secret is all that it takes to read a file. */
export const withoutFileSecrets = (text: string): string => text.replace(SECRET, "$1…");

/** The same for the path of a request, which may be encoded. */
export function pathWithoutFileSecrets(path: string): string {
  let decoded: string;
  try {
    decoded = decodeURIComponent(path);
  } catch {
    // No file has such an address.
    return withoutFileSecrets(path);
  }
  const safe = withoutFileSecrets(decoded);
  return safe === decoded ? path : safe;
}
