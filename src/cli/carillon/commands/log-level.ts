import { InvalidArgumentError, Option } from 'commander';
import type { LogLevelName } from '../../../platform/base/log-level.ts';
import { localTime } from '../../terminal/cells.ts';
import { example } from '../arguments.ts';
import type { AddCommands } from '../cli.ts';

const UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600 };
const LONGEST_SECONDS = 24 * 3_600;
const OWN = 'Each process has the level of its LOG_LEVEL.';

/** Parses a time such as `90s`, `10m` or `2h` to seconds. */
function durationOf(value: string): number {
  const [, count = '', unit = ''] = /^(\d{1,6})([smh])$/.exec(value) ?? [];
  const seconds = Number(count) * (UNITS[unit] ?? 0);
  if (seconds < 1 || seconds > LONGEST_SECONDS)
    throw new InvalidArgumentError('It must be a time such as 90s, 10m or 2h, at most 24h.');
  return seconds;
}

/** @throws {InvalidArgumentError} naming the levels */
async function levelOf(value: string): Promise<LogLevelName> {
  const { LOG_LEVELS } = await import('../../../platform/base/log-level.ts');
  const level = LOG_LEVELS.find((name) => name === value);
  if (level) return level;
  throw new InvalidArgumentError(
    `There is no level "${value}". Levels: ${LOG_LEVELS.join(', ')}; or default.`,
  );
}

/** Adds `carillon log-level`. */
export const add: AddCommands = (group, cli) => {
  group
    .argument('[level]', 'such as debug; "default" gives each process its own level again')
    .addOption(
      new Option('--for <time>', 'how long, such as 90s, 10m or 2h')
        .argParser(durationOf)
        .default(600, '10m'),
    )
    .addHelpText(...example('log-level debug --for=5m'))
    .action(async (wanted: string | undefined, { for: seconds }: { for: number }) => {
      const { LogLevelService } = await import('../../../operator/log-level/log-level.service.ts');
      const level = wanted === undefined || wanted === 'default' ? null : await levelOf(wanted);
      const forAll = await cli.withServices(async ({ database }) => {
        const service = new LogLevelService(database);
        if (level) return service.set(cli.actor, level, seconds);
        if (wanted === 'default') await service.reset(cli.actor);
        return service.read();
      });
      cli.print(
        { level: forAll?.level ?? null, until: forAll?.until ?? null },
        forAll ? `All processes log at ${forAll.level} until ${localTime(forAll.until)}.` : OWN,
      );
    });
};
