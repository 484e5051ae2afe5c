import { BENCHES } from '../bench/all.ts';
import { readResults } from '../bench/results.ts';
import { writePages } from '../bench/results-page.ts';

writePages(readResults(), BENCHES);
