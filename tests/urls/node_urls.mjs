// To which host Node goes for each URL of a file of make_urls; prints the lines where it is another one.
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";

let same = 0, refused = 0;
for await (const line of createInterface({ input: createReadStream(process.argv[2], "utf8") })) {
    const at = line.lastIndexOf(" ");
    const want = line.slice(at + 1);
    let got;
    try {
        got = new URL(line.slice(0, at)).hostname;
    } catch {
        refused++;
        console.log(`refused ${line}`);
        continue;
    }
    const four = /^\[::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})\]$/.exec(got);
    if (four) {
        const [high, low] = [parseInt(four[1], 16), parseInt(four[2], 16)];
        got = `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`;
    }
    got = got.replace(/\.$/, "");
    if (got === want) {
        same++;
    } else {
        console.log(`${got} ${line}`);
    }
}
console.log(`${same} same, ${refused} refused`);
