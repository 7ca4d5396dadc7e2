// Detects names that look alike, so that nobody can imitate another person's name. Unicode's list
// of confusable characters has 6,000 entries, most of them in scripts that are not used to imitate
// names. This table contains the letters of other scripts and styles that look like Latin letters
// in the fonts of the pages.

/** For each Latin letter, the capital letters and symbols that look like its capital form. */
const CAPITALS: Readonly<Record<string, string>> = {
  a: "ΑАᎪꓮ",
  b: "ΒВᏴꓐ",
  c: "ϹСᏟᏨꓚ",
  d: "Ꭰꓓ",
  e: "ΕЕᎬꓰ",
  f: "Ϝꓝ",
  g: "ԌᏀꓖ",
  h: "ΗНᎻꓧ",
  i: "ΙІӀᎥꓲ",
  j: "ЈᎫꓙ",
  k: "ΚКᏦꓗ",
  l: "Ꮮꓡ",
  m: "ΜМϺᎷꓟ",
  n: "Νꓠ",
  o: "ΟОՕꓳ",
  p: "ΡРᏢꓑ",
  q: "Ԛ",
  r: "Ꭱꓣ",
  s: "ЅՏᏚꓢ",
  t: "ΤТᎢꓔ",
  u: "Սꓴ",
  v: "ѴᏙꓦ",
  w: "ԜᎳꓪ",
  x: "ΧХꓫ",
  y: "ΥУҮꓬ",
  z: "ΖᏃꓜ",
};

/**
 * For each Latin letter, the lowercase letters, digits and symbols that look like it. If the
 * capital form of a letter looks like another Latin letter, the capital form decides, so that case
 * makes no difference.
 */
const SMALL: Readonly<Record<string, string>> = {
  a: "αаɑᴀⱥⲁ⍺𐌀𐊠",
  ae: "æӕ",
  b: "вβьʙƅƀɓⲃ𐌁",
  c: "сϲᴄȼҫⲥ𐐽",
  d: "ԁđᴅɗɖð",
  e: "еεєᴇɛ3ɇⲉ",
  f: "ꜰϝƒ",
  g: "ɡɢցԍǥɠꬶ",
  h: "һнηհʜħңӊҥⲏɦ",
  i: "іıɪιɩɨⲓ⍳",
  j: "јϳᴊɉȷʝ",
  k: "кκᴋқҝҟҡӄƙⱪⲕĸ",
  l: "ӏłʟ1|ǀ∣│❘ꞁɬɫɭƚᛁⵏ",
  m: "мᴍμϻӎⲙ",
  n: "νпոռɴŋƞɲɳⲛ",
  o: "оοօᴏøσς0ɵөѳθⲟ𐐬𐌏𐊫ⵔჿဝഠ○◯סه٥۵०০੦૦୦௦౦೦൦๐໐၀០",
  oe: "œ",
  p: "рρᴘҏᵽƥⲣþ",
  q: "ԛզ",
  r: "гʀɍɽɼɾ",
  s: "ѕտꜱ5ȿʂ",
  ss: "ß",
  t: "тτᴛŧҭƭʈⱦⲧ",
  u: "սᴜʊʉ",
  v: "ѵᴠ",
  w: "ωԝᴡաⱳ",
  x: "хχҳӽⲭ",
  y: "уүυγʏұƴɏⲩ",
  z: "ᴢζƶȥʐⲍ",
};

const inverted = (table: Readonly<Record<string, string>>): ReadonlyMap<string, string> =>
  new Map(Object.entries(table).flatMap(([letter, like]) => [...like].map((it) => [it, letter])));

const capitals = inverted(CAPITALS);
const small = inverted(SMALL);

/** The first characters of emoji alphabets: flags, and white letters on circles and squares. */
const ALPHABETS = [0x1f1e6, 0x1f150, 0x1f170];

function letterOf(char: string): string {
  const code = char.codePointAt(0)!;
  const first = ALPHABETS.find((it) => code >= it && code < it + 26);
  return first === undefined ? char : String.fromCharCode(97 + code - first);
}

/**
 * Returns the skeleton of a name. Names that look alike have the same skeleton, regardless of case,
 * spaces, punctuation, accents, styles and invisible characters. A skeleton is not meant to be
 * displayed.
 * @returns an empty string for a name without letters and digits.
 */
export function nameShapeOf(name: string): string {
  const bare = name
    .normalize("NFKD")
    .replace(/[\p{M}\p{Default_Ignorable_Code_Point}\u02b0-\u02ff\u0640]/gu, "")
    .replace(/\p{Script=Cherokee}/gu, (char) => char.toUpperCase());
  const latin = [...bare].map((char) => capitals.get(char) ?? letterOf(char)).join("");
  return (
    [...latin.toLowerCase().normalize("NFKD")]
      .map((char) => small.get(char) ?? char)
      .join("")
      .replace(/[^\p{L}\p{N}]/gu, "")
      // Pairs of letters that look like one letter, and letters that look like a vertical stroke.
      .replace(/rn/g, "m")
      .replace(/vv/g, "w")
      .replace(/[il]/g, "l")
  );
}
