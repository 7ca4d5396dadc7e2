import { until } from "../support/helper.js";
import { allModules, Site, type World } from "./kit.js";
import t, { test } from "./tap.js";

const site = await Site.open(t);

/** Sends captions to a room, as a captioning program does. */
async function sender(world: World, room: string) {
  const live = await world.live({ uid: "captioner", traits: ["admin"] });
  return (text: string, { lang = "en", final = true } = {}) =>
    live.call("room.captions.send", { room, lang, text, final });
}

test("a viewer chooses captions over the stage, and keeps the choice", async (t) => {
  const world = await site.world(t);
  const stage = await world.room("Main stage", allModules);
  const say = await sender(world, stage);
  const anna = await world.guest("Anna");
  await anna.enter("Main stage");
  const cc = anna.page.getByRole("main").getByRole("button", { name: "Captions" });
  const shown = anna.page.getByRole("group", { name: "Captions" });
  t.equal(await cc.count(), 0, "nothing is said yet");
  await say("Guten Morgen.", { lang: "de" });
  await cc.click();
  await shown.getByText("Guten Morgen.").waitFor();
  await say("Good", { final: false });
  await cc.click();
  await anna.dialog().getByLabel("English").check();
  await anna.dialog().getByLabel("Large").check();
  await anna.dialog().getByLabel("Top").check();
  t.same(await anna.faults(), [], "the choice of captions");
  await anna.dialog().getByRole("button", { name: "Close" }).click();
  await shown.getByText("Good", { exact: true }).waitFor();
  await say("<b>Good</b> morning, everybody.", { final: false });
  await shown.getByText("<b>Good</b> morning, everybody.").waitFor();
  t.equal(await shown.getByText(/./).count(), 1, "one line replaces the other");
  t.equal(await shown.getAttribute("aria-live"), "off", "no reader says everything twice");
  t.equal(await shown.locator("p").first().getAttribute("lang"), "en");
  t.same(await anna.faults(), [], "captions over a stage");

  await anna.page.reload();
  await anna.arrived();
  await say("We begin.");
  await shown.getByText("We begin.").waitFor();
  await cc.click();
  t.ok(await anna.dialog().getByLabel("Large").isChecked());
  await anna.dialog().getByLabel("Off").check();
  await anna.dialog().getByRole("button", { name: "Close" }).click();
  await shown.waitFor({ state: "detached" });
});

test("captions fill a wall, as an address or as the host wants it", async (t) => {
  const world = await site.world(t);
  const stage = await world.room("Main stage", allModules);
  const say = await sender(world, stage);
  await say("Guten Morgen.", { lang: "de" });
  await say("Good morning.");
  const screen = async (query: string) => {
    const visitor = await world.visitor({ viewport: { width: 1920, height: 1080 } });
    const token = world.token({ uid: `screen-${query}`, traits: ["moderator"] });
    await visitor.page.goto(`${world.attend}?${query}&room=${stage}#token=${token}`);
    return visitor;
  };
  const english = await screen("screen=captions&lang=EN");
  const live = await screen("screen=live");
  await english.page.getByText("Good morning.").waitFor();
  await say("We begin", { final: false });
  await english.page.getByText("We begin").waitFor();
  t.same(await english.faults(), [], "a wall");
  const host = await world.live({ uid: "mona", traits: ["moderator"] });
  await host.call("screen.show", { room: stage, show: "captions" });
  await live.page.getByText("Guten Morgen.").waitFor();
  await say("Heute", { lang: "de" });
  await live.page.getByText("Heute").waitFor();
});

test("a session that is over has a transcript", async (t) => {
  const world = await site.world(t);
  const stage = await world.room("Main stage", allModules);
  const at = (minutes: number) => new Date(Date.now() + minutes * 60_000).toISOString();
  const { id } = await world.api.createSession({
    title: "Maps for everyone",
    room_id: stage,
    starts_at: at(-60),
    ends_at: at(-1),
    language: "en",
    recording: { url: "https://video.example.org/watch/1" },
  });
  const live = await world.live({ uid: "captioner", traits: ["admin"] });
  const lines = Array.from({ length: 510 }, (_, i) => ({
    lang: "en",
    text: `Sentence ${i + 1}.`,
    final: true,
    at: new Date(Date.now() - 59 * 60_000 + 5000 * i).toISOString(),
    session_id: id,
  }));
  while (lines.length > 0) {
    await live.call("room.captions.send", { room: stage, captions: lines.splice(0, 50) });
  }
  const german = { lang: "de", text: "<i>Karten</i>", final: true, session_id: id };
  await live.call("room.captions.send", { room: stage, ...german });
  const anna = await world.guest("Anna");
  await anna.page.goto(`${world.attend}#/program/${id}`);
  const transcript = anna.page.getByRole("group", { name: "Transcript" });
  await transcript.getByText("Sentence 1.", { exact: true }).waitFor();
  t.match(await transcript.locator("p").first().innerText(), /^1:00/);
  t.equal(await transcript.locator("p").count(), 500);
  t.same(await anna.faults(), [], "a transcript");
  const download = anna.page.waitForEvent("download");
  await anna.button("Subtitles").click();
  const stream = await (await download).createReadStream();
  let vtt = "";
  for await (const chunk of stream) vtt += String(chunk);
  t.match(vtt, /^WEBVTT\n\n00:01:00\.\d{3} --> 00:01:05\.\d{3}\nSentence 1\.\n/);
  t.equal(vtt.match(/-->/g)?.length, 510, "all of it, not only what is shown");
  await anna.page.getByLabel("Language").selectOption("de");
  await transcript.getByText("<i>Karten</i>").waitFor();
  await until(async () => (await transcript.locator("p").count()) === 1);
});
