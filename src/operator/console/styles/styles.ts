import { PALETTE } from '../../../platform/pages/palette.ts';
import { CHARTS } from './charts.ts';
import { FRAME } from './frame.ts';
import { PARTS } from './parts.ts';

/** The only stylesheet of the console. */
export const STYLES = `${PALETTE}${FRAME}${PARTS}${CHARTS}`;
