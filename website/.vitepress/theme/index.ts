import DefaultTheme from 'vitepress/theme';
import './contrast.css';
import './diagrams.css';

export default DefaultTheme;
