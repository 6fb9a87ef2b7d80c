// Opens the page.
// SPDX-License-Identifier: MIT OR Apache-2.0

function themeChoice() {
  const dark = window.matchMedia('(prefers-color-scheme: dark)'), root = document.documentElement;
  let theme = 'system';
  try {
    theme = localStorage.getItem('toft-theme') || theme;
  } catch { /* a page from a file may have no storage */ }
  const apply = () => root.setAttribute('data-theme', theme === 'system' ? (dark.matches ? 'dark' : 'light') : theme);
  dark.addEventListener('change', apply);
  apply();
  return choice('Theme', [['system', 'system'], ['light', 'light'], ['dark', 'dark']], theme, value => {
    theme = value;
    apply();
    try {
      localStorage.setItem('toft-theme', value);
    } catch { /* as above */ }
  });
}

const main = document.getElementById('main'), controls = document.getElementById('controls');
controls.append(themeChoice());
if (data.kind === 'advice') advicePage(main);
else snapshotPage(main, controls);
