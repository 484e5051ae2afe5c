import fs from 'node:fs';
import os from 'node:os';
import Table from 'cli-table3';
import type { BenchOptions } from './options.ts';
import { type Finding, verdict } from './finding.ts';
import type { MeasuredRows } from './results.ts';
import { round } from './statistics.ts';

const say = (text: string): void => void process.stdout.write(`${text}\n`);

/** The system's load average of the last minute. */
export function load(): string {
  return (os.loadavg()[0] ?? 0).toFixed(2);
}

/**
 * Type of this machine, for example `2 × AMD EPYC, 8 GB`. Machines of one type have comparable
 * figures.
 */
function machineType(): string {
  const model = os
    .cpus()[0]
    ?.model.replace(/ (?:\d+-Core )?Processor$/, '')
    .trim();
  return `${os.cpus().length} × ${model}, ${round(os.totalmem() / 2 ** 30, 0)} GB`;
}

/** What is known about a run before its first row. */
interface Facts {
  at: string;
  quick: boolean;
  machine: string;
  system: string;
  node: string;
  /** Version and settings of PostgreSQL. */
  server: Readonly<Record<string, string>>;
}

const NO_FACTS: Facts = { at: '', quick: false, machine: '', system: '', node: '', server: {} };

/** Collects and prints the results. */
export class Report {
  readonly #findings: (Finding & { row: string })[] = [];
  readonly #failures: { row: string; error: string }[] = [];
  readonly #rounds: { row: string; round: string; load: number }[] = [];
  /** Load before each row. */
  readonly #loads = new Map<string, number>();
  #facts: Facts = NO_FACTS;

  /** Prints and stores the facts about the machine and the server. */
  begin(options: BenchOptions, server: Readonly<Record<string, string>>): void {
    this.#facts = {
      at: new Date().toISOString(),
      quick: options.quick,
      machine: machineType(),
      system: `${os.type()} ${os.release()}`,
      node: process.version,
      server,
    };
    say(`machine     ${this.#facts.machine}, ${this.#facts.system}`);
    say(`Node.js     ${process.version}`);
    say(
      `PostgreSQL  ${Object.entries(server)
        .map(([name, value]) => (name === 'server_version' ? value : `${name}=${value}`))
        .join(', ')}`,
    );
    if (options.quick) say('quick: fewer rounds, smaller numbers; these figures prove nothing');
  }

  /** Begins a row. */
  row(key: string, title: string): void {
    this.#loads.set(key, round(os.loadavg()[0] ?? 0, 1));
    say(`\n${title}`);
  }

  /**
   * Prints one round of one side.
   * @param said its figures
   */
  round(row: string, name: string, said: string): void {
    this.#rounds.push({ row, round: name, load: os.loadavg()[0] ?? 0 });
    say(`  ${name.padEnd(24)} load ${load()}   ${said}`);
  }

  note(text: string): void {
    say(`  ${text}`);
  }

  found(row: string, findings: readonly Finding[]): void {
    this.#findings.push(...findings.map((finding) => ({ row, ...finding })));
  }

  failed(row: string, error: unknown): void {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    this.#failures.push({ row, error: text });
    say(`  could not be measured: ${text}`);
  }

  /**
   * Prints the table.
   * @returns whether every row was measured and reached the needed values
   */
  end(): boolean {
    const table = new Table({
      head: ['row', 'what', 'measured', 'needed', 'aim', 'met?'],
      style: { head: [], border: [] },
    });
    for (const finding of this.#findings) {
      const { row, what, detail, measured, quartiles, needed, aim, unit } = finding;
      const between = quartiles ? ` (${quartiles[0]} to ${quartiles[1]})` : '';
      const [value, ...goals] = [measured, needed, aim].map((each) =>
        each === null ? '' : each + unit,
      );
      const met = { aim: 'yes, the aim too', yes: 'yes', shown: '', NO: 'NO' }[verdict(finding)];
      table.push([row, detail ? `${what} (${detail})` : what, `${value}${between}`, ...goals, met]);
    }
    for (const { row } of this.#failures)
      table.push([row, 'could not be measured', '', '', '', 'NO']);
    say(`\n${table.toString()}`);
    return (
      this.#failures.length === 0 && this.#findings.every((finding) => verdict(finding) !== 'NO')
    );
  }

  /** The measured rows with their findings, to keep. */
  measured(): MeasuredRows {
    const { at, machine, node, server } = this.#facts;
    const rows = Map.groupBy(this.#findings, ({ row }) => row);
    return {
      machine,
      rows: Object.fromEntries(
        [...rows].map(([key, findings]) => [
          key,
          {
            at: at.slice(0, 10),
            node: node.replace(/^v/, ''),
            postgres: server['server_version']?.split(' ')[0] ?? '',
            load: this.#loads.get(key) ?? 0,
            findings: findings.map(({ row: _row, figures: _figures, ...kept }) => kept),
          },
        ]),
      ),
    };
  }

  /** Writes everything that was measured, each round included. */
  write(file: string): void {
    const findings = this.#findings.map((finding) => ({ ...finding, verdict: verdict(finding) }));
    const text = JSON.stringify(
      { ...this.#facts, findings, failures: this.#failures, rounds: this.#rounds },
      null,
      2,
    );
    fs.writeFileSync(file, `${text}\n`);
  }
}
