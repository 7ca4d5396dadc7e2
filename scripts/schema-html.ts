/** The subset of JSON Schema that Foyer's documents use. */
export interface DocumentSchema {
  $ref?: string;
  description?: string;
  const?: unknown;
  enum?: readonly unknown[];
  anyOf?: readonly DocumentSchema[];
  oneOf?: readonly DocumentSchema[];
  allOf?: readonly DocumentSchema[];
  type?: string | readonly string[];
  items?: DocumentSchema | readonly DocumentSchema[];
  properties?: Readonly<Record<string, DocumentSchema>>;
  required?: readonly string[];
  additionalProperties?: boolean | DocumentSchema;
  format?: string;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  minimum?: number;
  maximum?: number;
}

/** Escapes text for HTML elements and quoted attributes. */
export const escapeHtml = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

/** Returns the name of the schema that a reference points to. */
export const refName = (ref: string): string => ref.slice(ref.lastIndexOf("/") + 1);

/** Renders a value as JSON, escaped for HTML. */
export const json = (value: unknown): string => escapeHtml(JSON.stringify(value));

const alternatives = (types: readonly string[]): string => [...new Set(types)].join(" | ");

/**
 * Renders a schema as HTML, in TypeScript notation, which is short and familiar to authors of
 * clients. Named schemas become links to `#<name>`.
 * @param indent the indentation of the schema's lines.
 */
export function schemaHtml(schema: DocumentSchema, indent = ""): string {
  const { $ref, anyOf, allOf, enum: words, type, items } = schema;
  if ($ref !== undefined) {
    const name = escapeHtml(refName($ref));
    return `<a href="#${name}">${name}</a>`;
  }
  if ("const" in schema) return json(schema.const);
  if (words) return alternatives(words.map(json));
  // The first is a named schema; the others narrow it.
  if (allOf) return schemaHtml(allOf[0]!, indent);
  if (anyOf) {
    return alternatives(anyOf.map((one) => schemaHtml(one, indent)));
  }
  if (typeof type === "object") {
    return alternatives(type.map((one) => schemaHtml({ ...schema, type: one }, indent)));
  }
  if (type === "object") return objectHtml(schema, indent);
  if (type === "array") {
    if (Array.isArray(items)) {
      const list = items as readonly DocumentSchema[];
      return `[${list.map((item) => schemaHtml(item, indent)).join(", ")}]`;
    }
    const inner = schemaHtml((items ?? {}) as DocumentSchema, indent);
    return inner.includes(" | ") ? `(${inner})[]` : `${inner}[]`;
  }
  return type ?? "any";
}

function objectHtml(
  { properties = {}, required = [], additionalProperties }: DocumentSchema,
  indent: string,
): string {
  const inside = `${indent}  `;
  const fields = Object.entries(properties).map(([name, field]) => {
    const mark = required.includes(name) ? "" : "?";
    const key = /^\w+$/.test(name) ? name : JSON.stringify(name);
    const note = noteOf(field);
    return `${inside}${escapeHtml(key)}${mark}: ${schemaHtml(field, inside)}${note && ` <i>// ${escapeHtml(note)}</i>`}\n`;
  });
  if (fields.length > 0) return `{\n${fields.join("")}${indent}}`;
  if (typeof additionalProperties !== "object") return "{}";
  return `{ [name]: ${schemaHtml(additionalProperties, indent)} }`;
}

/** Returns the constraints of a field that the notation cannot express, and its description. */
function noteOf(field: DocumentSchema): string {
  const { description, format, type, items } = field;
  const { minLength, maxLength, minItems, maxItems, minimum, maximum } = field;
  const notes = [
    format,
    rangeOf(minLength, maxLength, "characters"),
    rangeOf(minItems, maxItems, "entries"),
    type === "integer" && rangeOf(minimum, maximum, ""),
    items === undefined && description,
  ];
  return notes.filter(Boolean).join("; ");
}

function rangeOf(from: number | undefined, to: number | undefined, what: string): string {
  if (to === undefined) {
    return from === undefined ? "" : `at least ${from} ${what}`.trim();
  }
  return (from === undefined ? `at most ${to} ${what}` : `${from} to ${to} ${what}`).trim();
}
