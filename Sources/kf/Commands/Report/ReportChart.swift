/// Horizontal bars as SVG, in the colours of the page.
enum ReportChart {
    struct Bar {
        let label: String
        let value: Int64
        /// Behind the bar.
        let text: String
    }

    private static let (rowHeight, labelWidth, barWidth, width) = (26, 150, 240, 560)

    static func svg(_ title: String, _ bars: [Bar]) -> String {
        let most = max(1, bars.map(\.value).max() ?? 1)
        let height = max(1, bars.count) * rowHeight
        var rows: [String] = []
        for (index, bar) in bars.enumerated() {
            let y = index * rowHeight
            // A value that is there is seen, however small.
            let length = bar.value == 0 ? 0 : max(2, Int(Double(bar.value) / Double(most) * Double(barWidth)))
            let label = bar.label.count > 22 ? "\(bar.label.prefix(21))…" : bar.label
            rows.append(
                """
                <g><title>\(HTMLText.escaped(bar.label)): \(HTMLText.escaped(bar.text))</title>\
                <text class="label" x="\(labelWidth - 8)" y="\(y + 18)">\(HTMLText.escaped(label))</text>\
                <rect x="\(labelWidth)" y="\(y + 5)" width="\(length)" height="\(rowHeight - 10)" rx="3"/>\
                <text x="\(labelWidth + length + 8)" y="\(y + 18)">\(HTMLText.escaped(bar.text))</text></g>
                """)
        }
        return """
            <figure><figcaption>\(HTMLText.escaped(title))</figcaption>
            <svg viewBox="0 0 \(width) \(height)" role="img" aria-label="\(HTMLText.escaped(title))">
            \(rows.joined(separator: "\n"))
            </svg></figure>
            """
    }
}
