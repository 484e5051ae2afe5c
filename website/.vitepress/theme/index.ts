import DefaultTheme from 'vitepress/theme';
import './diagrams.css';

export default DefaultTheme;
