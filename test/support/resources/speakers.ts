import { ACCESS, accessTo, type Resource } from "../resource.js";

const LIST = "/api/v1/worlds/:world_id/speakers/";
const ONE = `${LIST}:speaker_id/`;

const speakers: Resource = {
  parameter: "speaker_id",
  access: {
    ...accessTo(LIST, ONE),
    [`POST ${ONE}merge/`]: ACCESS.read,
  },
  bodies: {
    // A speaker can be merged with themselves.
    "/merge/": (_fresh, url) => ({ speaker_id: /speakers\/([^/]+)/.exec(url)?.[1] }),
  },
  async make({ program }) {
    const made = await program.createSpeaker("demo", { name: "x" }, []);
    return "value" in made ? made.value.id : "";
  },
  async has({ program }, id) {
    const { speakers } = await program.get("demo");
    return speakers.some(({ value }) => value.id === id);
  },
  life: {
    list: LIST,
    draft: { name: "Ada", biography: "b", organization: "o", import_id: "1" },
    changes: { organization: "p" },
    record: "speaker",
  },
};

export default speakers;
