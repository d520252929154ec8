import KFCore

extension RetrievalSettings {
    /// The options of all that is retrieved of a source: its variants, then, with `--placeholder` or `--measure`, the
    /// description of each variant.
    ///
    /// A description is an image of its own in the cache, which shares the variant's decode.
    var retrieved: [KingfisherOptions] {
        let images = variants.map(\.options)
        return isDescribed ? images + images.map(\.describing) : images
    }

    private var isDescribed: Bool { placeholder != nil || measures.contains { $0 != .frames } }

    /// The members and columns that descriptions add to a record.
    var describedNames: [String] { (placeholder == nil ? [] : ["placeholder"]) + measures.map(\.rawValue) }

    /// Returns the placeholder of a variant; nil if there is none, or it cannot be read.
    func placeholder(of variant: Int, in results: [PrefetchResult]) -> String? {
        placeholder.flatMap { description(of: variant, in: results)?.value(of: $0) }
    }

    /// Returns the description of a variant; nil if there is none, or it cannot be read.
    func description(of variant: Int, in results: [PrefetchResult]) -> ImageDescription? {
        guard results.count > variants.count + variant,
            case .success(let image) = results[variants.count + variant].image
        else { return nil }
        return description(in: image)
    }

    func description(in image: RetrieveImageResult) -> ImageDescription? {
        value { () throws(KingfisherError) in try image.loadData() }
    }

    func description(of variant: Int, in files: [StoredFile]) -> ImageDescription? {
        guard files.count > variants.count + variant else { return nil }
        return value { () throws(KingfisherError) in try files[variants.count + variant].readAll() }
    }

    private func value(_ read: () throws(KingfisherError) -> [UInt8]) -> ImageDescription? {
        // The image itself is there: a description that has just been evicted is no failure.
        do throws(KingfisherError) { return DescriptionSerializer.description(in: try read()) } catch { return nil }
    }
}

extension ImageMeasure {
    /// Returns all figures of a description as JSON.
    static func all(of description: ImageDescription) -> StrictJSON {
        let own = allCases.filter { $0 != .frames }
        return .object(own.map { .init(name: $0.rawValue, value: $0.value(of: description, frames: nil)) })
    }

    /// Returns the figure as JSON; null when it is not known.
    func value(of description: ImageDescription?, frames: Int?) -> StrictJSON {
        if self == .frames { return frames.map { .number("\($0)") } ?? .null }
        guard let description else { return .null }
        return switch self {
        case .dhash: .string(description.dhashText)
        case .entropy: .number("\(description.entropy)")
        case .mean: .number("\(description.mean)")
        case .sharpness: .number("\(description.sharpness)")
        case .color: .string(description.color)
        case .transparent: .bool(description.isTransparent)
        case .frames: .null
        }
    }
}
