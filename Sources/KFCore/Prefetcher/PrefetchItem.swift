import KFImaging

/// One wish of a list.
public struct PrefetchItem: Sendable {
    /// The list's path; `-` is standard input.
    public internal(set) var list = ""
    /// Where it stood in the list, from 1; of several lines the first.
    public let line: Int
    /// Counts the wishes of all lists, from 1.
    public internal(set) var number = 0
    /// What it asks for, as the list has it.
    public internal(set) var text = ""
    /// All that the list says of it, byte for byte, end of line included; empty when it was too long to be kept.
    public private(set) var record: ArraySlice<UInt8>
    /// What must stand before the record where it is to be a list of its own: the names of the columns.
    public internal(set) var header: [UInt8] = []
    /// What to fetch, or why that cannot be.
    public internal(set) var source: Result<Source, KingfisherError> = .failure(.sourceError(reason: .emptySource))
    /// Sent with the request, beside those of the options.
    public internal(set) var headers: [(name: String, value: String)] = []
    /// What a copy is to be called, instead of the source's own name.
    public internal(set) var name: String?
    /// Goes on from what the options do to every image.
    public internal(set) var processor: (any ImageProcessor)?

    /// It has failed once because another process had the cache locked.
    var isPostponed = false

    init(line: Int, record: ArraySlice<UInt8>) {
        self.line = line
        self.record = record
    }

    /// The host that is asked; nil for a source that is no URL.
    var host: String? {
        guard case .success(.network(let resource)) = source else { return nil }
        return resource.downloadURL.host
    }

    /// The options for this one image.
    func options(_ form: OptionsBox) -> OptionsBox {
        guard processor != nil || !headers.isEmpty else { return form }
        return form.with { options in
            options.request.headers += headers
            if let processor { options.processor = options.processor.append(another: processor) }
        }
    }

    /// What the image is kept under when it is asked for with these options and its own headers; nil when there is nothing
    /// to ask for.
    public func cacheKey(for request: RequestOptions) -> String? {
        guard case .success(let source) = source else { return nil }
        var request = request
        request.headers += headers
        return source.cacheKey(for: request)
    }

    /// What is shared with the block that the list was read in becomes its own, so that one wish that waits does not
    /// hold all of the block.
    mutating func detach() { record = ArraySlice(Array(record)) }
}
