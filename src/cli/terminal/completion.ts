import { type Command, Argument, type Option } from 'commander';
import { onOneLine } from '../../platform/base/text/plain-text.ts';

/** Shells for which there are completion scripts. */
export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/** The hidden first argument with which the scripts ask for candidates. */
export const COMPLETE = '__complete';

/** A word that can follow. */
export interface Candidate {
  word: string;
  description?: string;
}

/** Further candidates for a command, such as the filters of a list. */
export type MoreCandidates = (command: Command) => Candidate[];

const takesValue = (option: Option): boolean => option.required || option.optional;

/** The command and those above it, the nearest first. */
function lineage(command: Command): Command[] {
  return command.parent ? [command, ...lineage(command.parent)] : [command];
}

const optionsOf = (command: Command): Option[] =>
  lineage(command).flatMap((one) => one.options.filter(({ hidden }) => !hidden));

/** The option whose value is being typed: `--output=t` or `--output t`. */
function pendingOption(
  command: Command,
  previous: string | undefined,
  current: string,
): { option: Option; prefix: string } | undefined {
  const [flag = '', rest] = current.startsWith('--') ? current.split('=', 2) : [];
  const name = rest === undefined ? (previous ?? '') : flag;
  const option = optionsOf(command).find(
    (one) => takesValue(one) && (one.long === name || one.short === name),
  );
  return option && { option, prefix: rest === undefined ? '' : `${flag}=` };
}

function optionCandidates(command: Command): Candidate[] {
  return optionsOf(command).flatMap((option) =>
    option.long
      ? [
          {
            word: takesValue(option) ? `${option.long}=` : option.long,
            description: option.description,
          },
        ]
      : [],
  );
}

/** Finds the command that the words name, and skips its arguments and options. */
function commandOf(program: Command, words: readonly string[]): Command {
  return words.reduce((command, word) => {
    const named = command.commands.find(
      (one) => one.name() === word || one.aliases().includes(word),
    );
    return named ?? command;
  }, program);
}

/**
 * Words that can follow a line.
 * @param line the command line up to the cursor, with the program's name
 */
export function candidatesFor(
  program: Command,
  line: string,
  more: MoreCandidates = () => [],
): Candidate[] {
  const words = line.trimStart().split(/\s+/);
  const current = words.at(-1) ?? '';
  const typed = words.slice(1, -1);
  const command = commandOf(program, typed);
  const pending = pendingOption(command, typed.at(-1), current);
  if (pending) {
    const { option, prefix } = pending;
    return (option.argChoices ?? [])
      .map((choice) => ({ word: `${prefix}${choice}` }))
      .filter(({ word }) => word.startsWith(current));
  }
  const all = current.startsWith('-')
    ? [...more(command), ...optionCandidates(command)]
    : [
        ...command.commands.map((one) => ({ word: one.name(), description: one.description() })),
        ...command.registeredArguments.flatMap(({ argChoices = [] }) =>
          argChoices.map((word) => ({ word })),
        ),
      ];
  return all.filter(({ word }) => word.startsWith(current));
}

/** One line for each candidate: the word, and after a tab its description. */
export function formatCandidates(candidates: readonly Candidate[]): string {
  return candidates
    .map(({ word, description }) =>
      description ? `${word}\t${onOneLine(description)}\n` : `${word}\n`,
    )
    .join('');
}

/** The script that the shell reads: `source <(carillon completion bash)`. */
const SCRIPTS: Readonly<Record<Shell, (name: string, id: string) => string>> = {
  // Bash splits words at ":" and "=", and replaces only the part after the last of them.
  bash: (name, id) => `# Completion of ${name} for bash: source <(${name} completion bash)
_${id}() {
  local line="\${COMP_LINE:0:COMP_POINT}" word kept
  word="\${line##*[[:space:]]}"
  kept="\${word%"\${word##*[:=]}"}"
  COMPREPLY=()
  local IFS=$'\\n' candidate
  for candidate in $(${name} ${COMPLETE} "$line" 2>/dev/null); do
    candidate="\${candidate%%$'\\t'*}"
    COMPREPLY+=("\${candidate#"$kept"}")
  done
  if [[ \${#COMPREPLY[@]} -eq 1 && "\${COMPREPLY[0]}" == *= ]]; then compopt -o nospace; fi
}
complete -o default -F _${id} ${name}
`,
  zsh: (name, id) => `#compdef ${name}
# Completion of ${name} for zsh: source <(${name} completion zsh), after compinit
_${id}() {
  local line
  local -a words_only valued
  for line in "\${(@f)$(${name} ${COMPLETE} "$LBUFFER" 2>/dev/null)}"; do
    line="\${line%%$'\\t'*}"
    [[ -z "$line" ]] && continue
    if [[ "$line" == *= ]]; then valued+=("$line"); else words_only+=("$line"); fi
  done
  if (( \${#words_only} + \${#valued} == 0 )); then _files; return; fi
  compadd -a words_only
  compadd -S '' -a valued
}
compdef _${id} ${name}
`,
  fish: (name) => `# Completion of ${name} for fish: ${name} completion fish | source
complete -c ${name} -a '(${name} ${COMPLETE} (commandline -cp) 2>/dev/null)'
`,
};

/** The completion script of a program for a shell. */
export function completionScript(shell: Shell, name: string): string {
  return SCRIPTS[shell](name, name.replaceAll('-', '_'));
}

/** Adds `completion <shell>`. @param print writes the script */
export function addCompletion(program: Command, print: (text: string) => void): void {
  program
    .command('completion')
    .description('print the completion script of a shell')
    .addArgument(new Argument('<shell>', 'bash, zsh or fish').choices([...SHELLS]))
    .action((shell: Shell) => print(completionScript(shell, program.name())));
}
