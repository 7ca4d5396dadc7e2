import fc from "fast-check";
import t from "tap";
import { admin, serve } from "../helper.js";

const as = admin("demo");
const world = "/api/v1/worlds/demo/";
const rooms = `${world}rooms/`;
const twice = ["This name may occur only once."];
const number = ["Must be a number that fits in 64 bits as it is written."];
const config = (json: string) => `{"config":{"n":${json}}}`;

void t.test("numbers that a double does not hold", async (t) => {
  const { call } = await serve(t);
  const patch = (body: string) =>
    call({ method: "PATCH", url: world, as, body });
  const refused = [
    "9007199254740993",
    "-9007199254740993",
    "12345678901234567890",
    "1e-400",
    "-1E-400",
    "1e-99999999999999999999",
    "0.1000000000000000055511151231257827",
    "1.00000000000000000001",
    "4e-324",
    "123456789012345678e-3",
    `0.${"0".repeat(400)}1`,
    `1${"0".repeat(200_000)}1e-200000`,
    `1.${"0".repeat(200_000)}1`,
  ];
  for (const json of refused) {
    const got = await patch(config(json));
    t.equal(got.status, 400, json.slice(0, 40));
    t.strictSame(got.body, { "config.n": number }, json.slice(0, 40));
  }
  const taken = [
    ...["0", "-0", "0.0", "0e5", "0e-9999", "1.0", "1.50", "1e2", "1E+2"],
    ...["100", "0.1", "1e23", "9007199254740992", "9007199254740994"],
    ...["5e-324", "1.7976931348623157e308", "0.30000000000000004"],
    ...["1.0000000000000000000000000", "12300000000000000000000000e-20"],
    `1${"0".repeat(300)}`,
  ];
  for (const json of taken) {
    const got = await patch(config(json));
    t.equal(got.status, 200, json);
    const { n } = (got.body as { config: { n: number } }).config;
    t.equal(n, Number(json) + 0, json);
  }
  const got = await patch(config("1e400"));
  t.strictSame(got.body, {
    "config.n": ["Must be a number that fits in 64 bits."],
  });
});

void t.test("names that occur twice", async (t) => {
  const { call } = await serve(t);
  const cases: [name: string, body: string, answer: object][] = [
    ["at the top", '{"name":"a","name":"a"}', { name: twice }],
    ["three times", '{"name":"a","name":"b","name":"c"}', { name: twice }],
    ["escaped", '{"name":"a","n\\u0061me":"b"}', { name: twice }],
    [
      "in a list, after strings with everything in them",
      '{"name":"\\"{[,:","module_config":[{"type":"a\\\\"},{"type":"b","x":{"y":1,"y":2}}]}',
      { "module_config.1.x.y": twice },
    ],
    ["nothing", '{"name":"a","description":"x","":1,"":2}', { "": twice }],
    [
      "with spaces, and a number",
      '{ "name" : "a" ,\n "name" : 9007199254740993 }',
      { name: [...twice, ...number] },
    ],
    [
      "thousands of them",
      `{${Array.from({ length: 40_000 }, (_, i) => `"n${i % 20_000}":1`).join()}}`,
      { n0: twice, n19: twice },
    ],
  ];
  for (const [name, body, answer] of cases) {
    const got = await call({ method: "POST", url: rooms, as, body });
    t.equal(got.status, 400, name);
    const { "": empty, ...rest } = answer as Record<string, unknown>;
    t.match(got.body, empty ? { non_field_errors: empty } : rest, name);
  }
  const fine =
    '{"name":"a","module_config":[{"type":"a"},{"type":"a","name":{"type":"type"}}]}';
  const got = await call({ method: "POST", url: rooms, as, body: fine });
  t.equal(got.status, 201, "the same name in several objects");
  const { id } = got.body as { id: string };
  const gone = await call({
    method: "DELETE",
    url: `${rooms}${id}/`,
    as,
    body: '{"a":1,"a":2}',
  });
  t.equal(gone.status, 204, "what is ignored loses nothing");
});

void t.test("whatever a program writes is taken as it is", async (t) => {
  const { findLosses } = await import("../../schemas/fidelity.js");
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
      t.equal(findLosses(JSON.stringify(value)), undefined);
    }),
  );
  fc.assert(
    fc.property(
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      (value) => {
        t.equal(findLosses(String(value)), undefined);
        t.equal(findLosses(value.toExponential()), undefined);
      },
    ),
  );
});
