/// Parses the text of processors, the grammar that the command line, the cache key and identifiers share.
public enum ProcessorParser {
    /// Parses one processor, or a chain joined by `|>`; an empty text is the default processor.
    ///
    /// The result's identifier parses to the same processor.
    ///
    /// - Throws: `invalidProcessor`, which names the part that is wrong and what is allowed.
    public static func parse(_ spec: String) throws(ImagingError) -> any ImageProcessor {
        if spec[...].trimmed.isEmpty { return DefaultImageProcessor() }
        var result: any ImageProcessor = DefaultImageProcessor()
        var rest = spec[...]
        while true {
            let bar = rest.indices.first { rest[$0...].hasPrefix("|>") }
            result = result.append(another: try parseOne(rest[..<(bar ?? rest.endIndex)].trimmed, of: spec))
            guard let bar else { return result }
            rest = rest[bar...].dropFirst(2)
        }
    }

    package static var names: [String] { ProcessorSyntax.all.map(\.name) }

    private static func parseOne(_ text: Substring, of spec: String) throws(ImagingError) -> any ImageProcessor {
        if text.isEmpty { throw .invalidProcessor(spec: spec, reason: "an empty step") }
        let colon = text.firstIndex(of: ":")
        let name = text[..<(colon ?? text.endIndex)].trimmed.lowercased()
        guard let syntax = ProcessorSyntax.all.first(where: { $0.name == name }) else {
            throw .invalidProcessor(spec: String(text), reason: unknown(name))
        }
        let arguments = try ProcessorArguments(
            spec: String(text), arguments: colon.map { text[text.index(after: $0)...] },
            parameters: syntax.parameters.filter { !$0.isSwitch }.map(\.name),
            switches: syntax.parameters.filter(\.isSwitch).map(\.name))
        return try syntax.make(arguments)
    }

    private static func unknown(_ name: String) -> String {
        if let mark = name.firstIndex(of: "="), names.contains(String(name[..<mark])) {
            return "did you mean '\(name[..<mark]):\(name[mark...].dropFirst())'?"
        }
        let hint = NearestName.to(name, in: names).map { "did you mean '\($0)'?" }
        return "no processor '\(name)'; \(hint ?? "there are \(names.joined(separator: ", "))")"
    }
}
