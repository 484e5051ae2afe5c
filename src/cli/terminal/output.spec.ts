import { csvLine, formatAnswer, formatTable, PageWriter } from './output.ts';

const MESSAGES = [
  { id: 'a', date: 1_795_488_095, from: [{ name: 'Bo', email: 'bo@x.test' }], unread: true },
  { id: 'b', date: 1_795_405_295, from: [], unread: false },
];

describe('output of the commands', () => {
  /** An instant of the day, in the local time of wherever the test runs. */
  const at = (hour: number, minute = 0): Date => new Date(2026, 10, 24, hour, minute);
  const seconds = (date: Date): number => date.getTime() / 1000;

  it('shows Unix seconds and ISO times of a table in local time', () => {
    const rows = [{ sent_at: seconds(at(3, 41)), seen: at(4).toISOString(), size: 1_795_488_095 }];
    const table = formatTable(rows, ['sent_at', 'seen', 'size']);
    expect(table).toContain('│ 2026-11-24 03:41:00 │ 2026-11-24 04:00:00 │ 1795488095 │');
  });

  it('shows nested columns, also of lists, and objects by what matters in them', () => {
    const event = {
      title: 'Standup',
      when: { object: 'timespan', start_time: seconds(at(9)), end_time: seconds(at(10)) },
      participants: [
        { email: 'a@x.test', status: 'yes' },
        { email: 'b@x.test', status: 'no' },
      ],
      place: { room: 'one', floor: null },
    };
    const table = formatTable([event], ['when', 'participants', 'participants.status', 'place']);
    expect(table).toContain(
      '│ 2026-11-24 09:00:00 – 2026-11-24 10:00:00 │ a@x.test, b@x.test │ yes, no             │ room: one │',
    );
  });

  it('shows a single object with its long texts to the end, on several lines', () => {
    const reason = `${'the server said no '.repeat(5)}(ECONNREFUSED)`;
    const shown = formatTable({ reason }, []);
    expect(shown).toContain('(ECONNREFUSED)');
    expect(shown.split('\n')).toHaveLength(4);
  });

  it('writes CSV with a header, addresses and plain lists, and quotes what needs it', () => {
    expect(formatAnswer(MESSAGES, 'csv', ['id', 'date', 'from', 'unread'])).toBe(
      'id,date,from,unread\na,1795488095,bo@x.test,true\nb,1795405295,,false\n',
    );
    expect(csvLine(['a,b', 'say "x"', 'two\nlines', ['x', 'y'], { a: 1 }, null])).toBe(
      '"a,b","say ""x""","two\nlines",x; y,"{""a"":1}",',
    );
  });

  it.each([
    ['=1+1', "'=1+1"],
    ['@SUM(A1)', "'@SUM(A1)"],
    ['-1+1|cmd', "'-1+1|cmd"],
    ['+49 30 1234-5', '+49 30 1234-5'],
    [-1.5, '-1.5'],
  ])('keeps a spreadsheet from running %j in CSV as a formula', (value, text) => {
    expect(csvLine([value])).toBe(text);
  });

  it('writes one line of JSON for each entry, without characters that a terminal obeys', () => {
    const rows = [{ subject: 'a\u009b2J' }, { subject: 'b' }];
    expect(formatAnswer({ data: rows }, 'jsonl', [])).toBe(
      '{"subject":"a\\u009b2J"}\n{"subject":"b"}\n',
    );
  });

  it('writes the pages of a list as the same JSON that the whole list has', () => {
    const writer = new PageWriter('json', []);
    const text = [...MESSAGES.map((one) => writer.page([one])), writer.page([]), writer.end()];
    expect(text.join('')).toBe(formatAnswer(MESSAGES, 'json', []));
    expect(new PageWriter('json', []).end()).toBe('[]\n');
  });

  it('writes the pages of a list as tables of the same width, and as CSV with one header', () => {
    const table = new PageWriter('table', ['id', 'unread']);
    const [first = '', second = ''] = MESSAGES.map((one) => table.page([one]).split('\n')[0]);
    expect(second).toBe(first);
    const csv = new PageWriter('csv', ['id']);
    expect(MESSAGES.map((one) => csv.page([one])).join('')).toBe('id\na\nb\n');
  });
});
