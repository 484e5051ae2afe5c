import fs from 'node:fs';
import os from 'node:os';
import Table from 'cli-table3';
import type { BenchOptions } from './options.ts';
import { type Finding, reaches } from './finding.ts';
import { round } from './statistics.ts';

const say = (text: string): void => void process.stdout.write(`${text}\n`);

/** The system's load average of the last minute. */
export function load(): string {
  return (os.loadavg()[0] ?? 0).toFixed(2);
}

/** Collects and prints the results. */
export class Report {
  readonly #findings: (Finding & { row: string })[] = [];
  readonly #failures: { row: string; error: string }[] = [];
  readonly #rounds: { row: string; round: string; load: number }[] = [];
  #facts: Readonly<Record<string, unknown>> = {};

  /** Prints and stores the facts about the machine and the server. */
  begin(options: BenchOptions, server: Readonly<Record<string, string>>): void {
    const [cpu] = os.cpus();
    this.#facts = {
      at: new Date().toISOString(),
      quick: options.quick,
      machine: `${os.cpus().length} × ${cpu?.model.trim()}, ${round(os.totalmem() / 2 ** 30, 1)} GB, ${os.type()} ${os.release()}`,
      node: process.version,
      server,
    };
    say(`machine     ${String(this.#facts['machine'])}`);
    say(`Node.js     ${process.version}`);
    say(
      `PostgreSQL  ${Object.entries(server)
        .map(([name, value]) => (name === 'server_version' ? value : `${name}=${value}`))
        .join(', ')}`,
    );
    if (options.quick) say('quick: fewer rounds, smaller numbers; these figures prove nothing');
  }

  row(title: string): void {
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
      const { row, what, measured, needed, aim, unit } = finding;
      const aimed = aim === null || reaches(finding, aim);
      const met = reaches(finding, needed) ? (aimed ? 'yes, the aim too' : 'yes') : 'NO';
      table.push([
        row,
        what,
        `${measured}${unit}`,
        `${needed}${unit}`,
        aim === null ? '' : `${aim}${unit}`,
        met,
      ]);
    }
    for (const { row } of this.#failures)
      table.push([row, 'could not be measured', '', '', '', 'NO']);
    say(`\n${table.toString()}`);
    return (
      this.#failures.length === 0 &&
      this.#findings.every((finding) => reaches(finding, finding.needed))
    );
  }

  write(file: string): void {
    const findings = this.#findings.map((finding) => ({
      ...finding,
      met: reaches(finding, finding.needed),
      aimMet: finding.aim === null || reaches(finding, finding.aim),
    }));
    const text = JSON.stringify(
      { ...this.#facts, findings, failures: this.#failures, rounds: this.#rounds },
      null,
      2,
    );
    fs.writeFileSync(file, `${text}\n`);
  }
}
