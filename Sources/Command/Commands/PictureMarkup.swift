import KFCore

/// The files of one source as a page uses them: a `<picture>` of HTML, or an object of JSON.
struct PictureMarkup {
    struct File {
        let variant: String?
        let url: String
        let facts: ImageFacts
    }

    let source: String
    let alternativeText: String
    let placeholder: String?
    /// The files by format: from the one that a browser should take first to the fallback. Those of a format differ in
    /// their width and go from the narrowest to the widest.
    let sets: [[File]]

    /// Nil without a file.
    init?(source: String, alternativeText: String, placeholder: String?, files: [File]) {
        guard !files.isEmpty else { return nil }
        (self.source, self.alternativeText, self.placeholder) = (source, alternativeText, placeholder)
        var sets: [[File]] = []
        for file in files {
            if let index = sets.firstIndex(where: { $0[0].facts.format == file.facts.format }) {
                // A source that is narrower than several widths has one file for them.
                if !sets[index].contains(where: { $0.facts.width == file.facts.width }) { sets[index].append(file) }
            } else {
                sets.append([file])
            }
        }
        for index in sets.indices { sets[index].sort { $0.facts.width ?? 0 < $1.facts.width ?? 0 } }
        // In the order of -f where the rank is equal.
        self.sets = sets.enumerated().sorted { (Self.rank($0.element), $0.offset) < (Self.rank($1.element), $1.offset) }
            .map(\.element)
    }

    /// 0 for formats that some browsers lack and that are smaller, 2 for those that every browser has.
    private static func rank(_ files: [File]) -> Int {
        switch files[0].facts.format {
        case .webp: 1
        case .jpeg, .png, .gif, .bmp, .ico, .svg: 2
        default: 0
        }
    }

    /// The widest file of the fallback, which stands for the picture.
    private var main: File { sets[sets.count - 1][sets[sets.count - 1].count - 1] }

    /// Returns the `<picture>`. `sizes` are those of the attribute: the picture's width in the page.
    func html(sizes: String) -> String {
        // An image that kf cannot decode is one file, without other sizes and formats.
        let isAlone = sets.count == 1 && sets[0].count == 1 && !main.facts.format.isDecodable
        var text = isAlone ? "" : "<picture>\n"
        for files in sets.dropLast() {
            text += "  <source type=\"\(Self.mediaType(files[0].facts.format))\"\(candidates(files, sizes))>\n"
        }
        let fallback = sets[sets.count - 1]
        text += (isAlone ? "" : "  ") + "<img src=\"\(HTMLText.attribute(main.url))\""
        if fallback.count > 1 { text += candidates(fallback, sizes) }
        if let width = main.facts.width, let height = main.facts.height {
            text += " width=\"\(width)\" height=\"\(height)\""
        }
        text += " alt=\"\(HTMLText.attribute(alternativeText))\""
        switch placeholder {
        case let color? where color.hasPrefix("#"):
            // A background would stay behind transparent pixels.
            text +=
                main.facts.format == .jpeg
                ? " style=\"background-color:\(color)\"" : " data-color=\"\(color)\""
        case let hash?: text += " data-thumbhash=\"\(hash)\""
        case nil: break
        }
        return text + (isAlone ? ">\n" : ">\n</picture>\n")
    }

    /// The attributes `srcset` and, where files are chosen by their width, `sizes`.
    private func candidates(_ files: [File], _ sizes: String) -> String {
        guard files.count > 1 else { return " srcset=\"\(HTMLText.attribute(files[0].url))\"" }
        let list = files.map { HTMLText.attribute($0.url) + " \($0.facts.width ?? 0)w" }.joined(separator: ", ")
        return " srcset=\"\(list)\" sizes=\"\(HTMLText.attribute(sizes))\""
    }

    static func mediaType(_ format: ImageFormat) -> String {
        switch format {
        case .svg: "image/svg+xml"
        case .ico: "image/vnd.microsoft.icon"
        default: "image/\(format.rawValue)"
        }
    }

    var json: String { JSONObject(part: self, Self.fields).json }

    static let fields: [JSONField<PictureMarkup>] = [
        JSONField("source", "The source as it was given, without user info.") {
            RequestURL.withoutUserInfo($0.source)
        },
        JSONField("alt", "The text of --alt-column; empty without it.") { $0.alternativeText },
        JSONField("placeholder", "The value of --placeholder; null without it.") { $0.placeholder },
        JSONField("width", "The size in pixels of the widest file of the fallback, the last of the files.") {
            $0.main.facts.width
        },
        JSONField("height", nil) { $0.main.facts.height },
        JSONField(
            "files",
            "Each file: variant, url, type (image/webp, ...), format, width, height, bytes and sha256. From the best format to "
                + "the fallback, and from the narrowest to the widest."
        ) { picture in picture.sets.flatMap { $0.map { JSONObject(part: $0, fileFields) } } },
    ]

    private static let fileFields: [JSONField<File>] =
        [
            JSONField("variant", nil) { $0.variant }, JSONField("url", nil) { $0.url },
            JSONField("type", nil) { mediaType($0.facts.format) },
        ]
        + CommonFields.facts.filter { !["frames", "decodable"].contains($0.name) }.map { $0.of { $0.facts } }
}
