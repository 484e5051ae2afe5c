import { LONG_RUN } from './sized.ts';

// Imported first by the files of test/long: the storms that they import then have their full size.
process.env[LONG_RUN] = 'true';
