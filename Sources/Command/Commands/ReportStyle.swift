import KFCore

/// The style of a report. Below 640 pixels of width, each row of a table is a card.
enum ReportStyle {
    static let text = """
        :root { --ink: #1d2327; --dim: #5b666e; --page: #fafaf8; --card: #fff; --line: #dfe3e2; --bar: #2a7f9e; }
        @media (prefers-color-scheme: dark) {
          :root { --ink: #e4e8ea; --dim: #98a4ab; --page: #14181a; --card: #1d2326; --line: #333b40; --bar: #55b3d4; }
        }
        * { box-sizing: border-box; }
        [hidden] { display: none !important; }
        body { margin: 0 auto; max-width: 1120px; padding: 2rem 1.25rem 3rem; background: var(--page); color: var(--ink);
          font: 15px/1.5 system-ui, sans-serif; }
        h1 { margin: 0; font-size: 1.7rem; } h2 { margin: 2rem 0 .6rem; font-size: 1.15rem; }
        .path, footer { color: var(--dim); margin: .2rem 0 0; overflow-wrap: anywhere; } footer { margin-top: 3rem; }
        .numbers { display: flex; flex-wrap: wrap; gap: .8rem; margin: 1.5rem 0; padding: 0; list-style: none; }
        .numbers li { flex: 1 1 11rem; padding: .8rem 1rem; background: var(--card); border: 1px solid var(--line);
          border-radius: 8px; }
        .numbers strong { display: block; font-size: 1.35rem; } .numbers span { color: var(--dim); }
        .charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 400px), 1fr)); gap: .8rem; }
        figure { margin: 0; padding: .8rem 1rem; background: var(--card); border: 1px solid var(--line); border-radius: 8px; }
        figcaption { font-weight: 600; margin-bottom: .4rem; } dl { margin: 0; }
        dl div { display: grid; grid-template-columns: minmax(4rem, 35%) 1fr; gap: .6rem; align-items: center; }
        dt { color: var(--dim); text-align: right; overflow-wrap: anywhere; }
        dd { margin: 0; display: flex; flex-wrap: wrap; align-items: center; gap: 0 .5rem; }
        dd i { height: .9rem; background: var(--bar); border-radius: 3px; }
        #find { display: flex; flex-wrap: wrap; gap: .6rem 1.2rem; align-items: center; margin: 1.5rem 0 0; }
        #find label { display: flex; gap: .5rem; align-items: center; } #find label:first-child { flex: 1 1 16rem; }
        #find input { flex: 1; min-width: 0; }
        #find input, #find select { font: inherit; padding: .35rem .6rem; color: var(--ink); background: var(--card);
          border: 1px solid var(--line); border-radius: 6px; }
        #find output { color: var(--dim); }
        table { width: 100%; border-collapse: collapse; font-size: .92rem; background: var(--card);
          border: 1px solid var(--line); }
        th { text-align: left; color: var(--dim); font-weight: 600; }
        th, td { padding: .35rem .8rem; border-bottom: 1px solid var(--line); } tr:last-child td { border-bottom: 0; }
        td { overflow-wrap: anywhere; } .n { white-space: nowrap; font-variant-numeric: tabular-nums; }
        a { color: inherit; text-decoration-color: var(--bar); } a:hover { color: var(--bar); }
        small { display: block; color: var(--dim); font-size: .95em; }
        .sheet { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 210px), 1fr)); gap: .8rem; margin: 0;
          padding: 0; list-style: none; }
        .sheet li { padding: .6rem; background: var(--card); border: 1px solid var(--line); border-radius: 8px; }
        .sheet img { display: block; width: 100%; height: 150px; object-fit: contain; }
        .sheet p { margin: .4rem 0 0; font-size: .85rem; overflow-wrap: anywhere; } .sheet p + p { color: var(--dim); }
        @media (max-width: 640px) {
          body { padding: 1rem .8rem 2rem; }
          thead { display: none; } table, tbody { display: block; }
          tr { display: flex; flex-wrap: wrap; gap: 0 1rem; padding: .5rem .7rem; border-bottom: 1px solid var(--line); }
          td { padding: 0; border: 0; } td:last-child { flex-basis: 100%; order: -1; font-size: 1rem; }
          td.n::before { content: attr(data-label) " "; color: var(--dim); }
        }
        """
}

/// The script of a report: it searches and sorts what the page has.
enum ReportScript {
    static let text = """

        (() => {
          const form = document.getElementById('find');
          if (!form) return;
          const [search, order, found] = ['input', 'select', 'output'].map(name => form.querySelector(name));
          const lists = [...document.querySelectorAll('.items')].map(list => ({ list, items: [...list.children] }));
          const show = () => {
            const words = search.value.toLowerCase().split(/\\s+/).filter(Boolean);
            let count = 0;
            for (const { list, items } of lists) {
              const shown = items.filter(item => words.every(word => item.dataset.name.includes(word)));
              for (const item of items) item.hidden = !shown.includes(item);
              list.closest('section').hidden = !shown.length;
              count += shown.length;
            }
            found.textContent = words.length ? count + ' found' : '';
          };
          const sort = () => {
            const key = order.value;
            for (const { list, items } of lists) {
              const sorted = [...items];
              if (key === 'name') sorted.sort((a, b) => a.dataset.name < b.dataset.name ? -1 : 1);
              else if (key) sorted.sort((a, b) => b.dataset[key] - a.dataset[key]);
              list.append(...sorted);
            }
          };
          search.addEventListener('input', show);
          order.addEventListener('change', sort);
          form.addEventListener('submit', event => event.preventDefault());
          form.hidden = false;
        })();

        """

    /// The hash by which the page's policy allows this script, and no other that a key might bring.
    static var hash: String {
        var sha = SHA256()
        sha.update(text)
        return sha.finish().withBytes { Base64.encode(Array($0)) }
    }
}
