import KFCore

/// One of the images that are made of each source.
struct Variant: Sendable {
    /// Nil when there is but one, which needs no name.
    let name: String?
    let options: KingfisherOptions

    /// `--variant NAME=CHAIN`: each chain goes on from what `-p` gives.
    static func all(_ arguments: ParsedArguments, _ options: KingfisherOptions) throws(UsageError) -> [Variant] {
        let specs = arguments.values("variant")
        guard !specs.isEmpty else { return [Variant(name: nil, options: options)] }
        var variants: [Variant] = []
        for spec in specs {
            let parts = spec.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(parts[0])
            guard parts.count == 2, !parts[1].isEmpty, OutputName.isSafe(name) else {
                throw UsageError(
                    message: "--variant takes NAME=CHAIN, such as small=resize:320x, not '\(spec)'; "
                        + "a name has letters, digits, - and _")
            }
            guard !variants.contains(where: { $0.name == name }) else {
                throw UsageError(message: "there are two variants named '\(name)'")
            }
            var options = options
            do {
                options.processor = options.processor.append(another: try ProcessorParser.parse(String(parts[1])))
            } catch {
                throw UsageError(message: "variant '\(name)': \(error.message)")
            }
            variants.append(Variant(name: name, options: options))
        }
        return variants
    }
}
