import fs from 'node:fs';
import { compatibilityTables } from './support/compatibility-table.ts';
import { nodeClients } from './support/node-clients.ts';
import { readRecording } from './support/recorded-client.ts';

const PAGE = new URL('../../docs/compatibility.md', import.meta.url);
const RECORDED = new URL('recorded', import.meta.url);
const CHAINS = fs.readdirSync(new URL('chains', `${String(RECORDED)}/`));
const ENDING = '.json.gz';
const [START, END] = ['<!-- tables: start -->\n\n', '\n<!-- tables: end -->'];

describe('docs/compatibility.md', () => {
  it('has the tables of the calls that the suites make (UPDATE_COMPATIBILITY=1 writes them)', () => {
    const clients = fs
      .readdirSync(RECORDED)
      .filter((file) => file.endsWith(ENDING))
      .toSorted()
      .map((file) => {
        const client = file.slice(0, -ENDING.length);
        const recording = readRecording(client);
        const chains = CHAINS.includes(file) ? readRecording(`chains/${client}`) : null;
        return { ...recording, calls: [...recording.calls, ...(chains?.calls ?? [])] };
      });
    const page = fs.readFileSync(PAGE, 'utf8');
    const [before = '', rest = ''] = page.split(START);
    const [, after = ''] = rest.split(END);
    const wanted = `${before}${START}${compatibilityTables([...nodeClients(), ...clients])}${END}${after}`;
    if (process.env['UPDATE_COMPATIBILITY'] === '1') fs.writeFileSync(PAGE, wanted);
    expect(fs.readFileSync(PAGE, 'utf8')).toBe(wanted);
  });
});
