import { csvLine, formatAnswer, PageWriter } from './output.ts';
import { fittingWidths, formatTable, wrappedTable } from './table.ts';
import { widthOf as terminalWidth } from './width.ts';

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

describe('tables in a terminal', () => {
  const id = '0199c0de-1234-7abc-8def-0123456789ab';
  const long = 'the server said no '.repeat(10).trim();
  const rows = [{ id, kind: 'send', due_at: '2026-11-24T09:00:00Z', reason: long }];
  const columns = ['id', 'kind', 'due_at', 'reason'];
  const widthOf = (table: string) => Math.max(...table.split('\n').map((line) => line.length));

  it('cut only the longest texts, so that ids and times stay whole', () => {
    const table = formatTable(rows, columns, { width: 100 });
    expect(widthOf(table)).toBe(100);
    expect(table).toContain(id);
    expect(table).toMatch(/│ send │ 2026-11-2\d \d\d:\d\d:00 │ the server .*… │/);
  });

  it('name the columns for which there is no room', () => {
    const table = formatTable(rows, columns, { width: 60 });
    expect(table.split('\n')[0]).toHaveLength(47);
    expect(table).toContain('No room for: due_at, reason.');
  });

  it('keep texts whole in a file or a pipe', () => {
    expect(formatTable(rows, columns)).toContain(long);
    const writer = new PageWriter('table', columns);
    writer.page([{ ...rows[0], reason: 'short' }]);
    expect(writer.page(rows)).toContain(long);
  });

  it('have the widths of the first page on every page, and one note', () => {
    const writer = new PageWriter('table', columns, { width: 60 });
    const [first, second] = [writer.page(rows), writer.page(rows)];
    expect(second.split('\n')[0]).toBe(first.split('\n')[0]);
    expect(second).not.toContain('No room for');
  });

  it('continue a text on further lines if it must be read whole', () => {
    const table = wrappedTable(rows, ['kind', 'reason'], { width: 40 });
    expect(widthOf(table)).toBeLessThanOrEqual(40);
    expect(table).not.toContain('…');
    expect(table.match(/said/g)).toHaveLength(10);
  });

  describe('with characters that take two columns', () => {
    const chinese = '请查收附件中的会议纪要，并于本周五之前确认参加人员名单与会议室安排';
    const emoji = `${'👩‍👩‍👧‍👦🎉🇩🇪'.repeat(9)} at the house of everybody`;
    const wide = [chinese, emoji].map((subject) => ({ kind: 'send', subject }));
    const columnsOf = (table: string) => [...new Set(table.split('\n').map(terminalWidth))];

    it.each([40, 41, 42, 43, 44])('fit a terminal of %d columns and cut no character', (width) => {
      const table = formatTable(wide, ['kind', 'subject'], { width });
      const [used = 0, ...others] = columnsOf(table);
      expect(others).toEqual([]);
      expect(used).toBeLessThanOrEqual(width);
      expect(table.isWellFormed()).toBe(true);
      expect(table).toMatch(/(请|👩‍👩‍👧‍👦).*…/u);
      // The joined family is one character: a part of it would be another one.
      expect(table.replaceAll('👩‍👩‍👧‍👦', '')).not.toMatch(/👩|\u200d/u);
    });

    it.each([40, 41])('continue on further lines in a terminal of %d columns', (width) => {
      for (const table of [
        wrappedTable(wide, ['subject'], { width }),
        formatTable(wide[0], [], { width }),
      ]) {
        const [used = 0, ...others] = columnsOf(table);
        expect(others).toEqual([]);
        expect(used).toBeLessThanOrEqual(width);
        expect(table.replaceAll(/[^\p{Script=Han}，]/gu, '')).toContain(chinese);
      }
    });

    it('stay whole in a file or a pipe', () => {
      const table = formatTable(wide, ['kind', 'subject']);
      expect(table).toContain(chinese);
      expect(table).toContain(emoji);
    });
  });

  it('break the values of a single object to the width', () => {
    expect(widthOf(formatTable({ reason: long }, [], { width: 50 }))).toBeLessThanOrEqual(50);
  });

  it.each([
    [[20, 20], 100, [20, 20]],
    [[20, 60], 60, [20, 37]],
    [[60, 60], 60, [28, 28]],
    [[20, 20, 20], 36, [16, 17]],
    [[5, 90], 12, [5]],
    [[90], 20, [18]],
  ])('give columns of %j in a terminal of %d the widths %j', (widths, room, fitting) => {
    const result = fittingWidths(widths, [], room);
    expect(result).toHaveLength(fitting.length);
    expect(result.reduce((sum, one) => sum + one + 1, 1)).toBeLessThanOrEqual(room);
  });
});
