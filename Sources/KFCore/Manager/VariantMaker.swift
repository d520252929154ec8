import KFImaging
import KFStorage

/// Makes several images of the same bytes: decodes and shared steps once, the rest side by side on all processors.
struct VariantMaker: Sendable {
    typealias Made = (index: Int, result: Result<ProcessedImage, KingfisherError>)

    let bytes: [UInt8]
    let format: ImageFormat
    /// All with a processor, and with the same processing options.
    let retrievals: [Retrieval]

    /// The memory for all of them together; each piece of work has its own time.
    private let allowance: Allowance

    init(bytes: [UInt8], format: ImageFormat, retrievals: [Retrieval]) {
        self.bytes = bytes
        self.format = format
        self.retrievals = retrievals
        allowance = Allowance(retrievals[0].options.decodeLimits, fileBytes: bytes.count)
    }

    private var processing: ProcessingOptions { retrievals[0].options.processing }

    /// What came of each retrieval, in no order.
    func make() async -> [Made] {
        let tree = VariantTree(retrievals.map(\.options.processor))
        let sized = tree.roots.filter { $0.processor is any SizedDecoding }
        let others = tree.roots.filter { !($0.processor is any SizedDecoding) }
        return await withTaskGroup(of: [Made].self) { group in
            do throws(ImagingError) {
                for pass in try passes(over: sized) { group.addTask { await decode(pass) } }
            } catch {
                return sized.flatMap { failures(of: $0, error) }
            }
            if !others.isEmpty { group.addTask { await decodeWhole(for: others) } }
            return await group.reduce(into: []) { $0 += $1 }
        }
    }

    private struct Pass: Sendable {
        var roots: [VariantTree.Node] = []
        var sizes: [PixelSize] = []
    }

    private func passes(over roots: [VariantTree.Node]) throws(ImagingError) -> [Pass] {
        guard !roots.isEmpty else { return [] }
        return try bytes.withUnsafeBytes { bytes in
            Result { () throws(ImagingError) in
                let info = try ImageProbe.probe(bytes, limits: processing.decode.limits)
                let sizes = roots.compactMap { root in
                    (root.processor as? any SizedDecoding)?.decodedSize(of: info, options: processing)
                }
                let groups = try ImageDecoder.passes(over: bytes, options: processing.decode, sizes: sizes)
                return groups.map { group in Pass(roots: group.map { roots[$0] }, sizes: group.map { sizes[$0] }) }
            }
        }.get()
    }

    private func decode(_ pass: Pass) async -> [Made] {
        do {
            let images = try await work { () throws(ImagingError) in
                try bytes.withUnsafeBytes { bytes in
                    Result { () throws(ImagingError) in
                        try ImageDecoder.decode(bytes, options: processing.decode, sizes: pass.sizes)
                    }
                }.get()
            }
            return await sideBySide(Array(zip(pass.roots, images))) { root, image in await goOn(root, image) }
        } catch {
            return pass.roots.flatMap { failures(of: $0, error) }
        }
    }

    private func decodeWhole(for roots: [VariantTree.Node]) async -> [Made] {
        // One alone may have its own way to decode.
        if roots.count == 1 { return await run(roots[0], .data(bytes)) }
        do {
            let image = try await work { () throws(ImagingError) in
                try ImageDecoder.decode(bytes, options: processing.decode)
            }
            return await sideBySide(roots.map { ($0, image) }) { root, image in await run(root, .image(image)) }
        } catch {
            return roots.flatMap { failures(of: $0, error) }
        }
    }

    private func run(_ node: VariantTree.Node, _ item: ImageProcessItem) async -> [Made] {
        do {
            let image = try await work { () throws(ImagingError) in
                try node.processor.process(item, options: processing)
            }
            return await goOn(node, image)
        } catch {
            return failures(of: node, error)
        }
    }

    /// The node's step is done: encodes for the chains that end here, and takes the next steps.
    private func goOn(_ node: VariantTree.Node, _ image: Image) async -> [Made] {
        async let encoded = sideBySide(node.leaves.map { ($0, image) }) { leaf, image in [await encode(image, leaf)] }
        let deeper = await sideBySide(node.children.map { ($0, image) }) { child, image in
            await run(child, .image(image))
        }
        return await encoded + deeper
    }

    private func encode(_ image: Image, _ index: Int) async -> Made {
        let retrieval = retrievals[index]
        do {
            let made = try await work { () throws(ImagingError) in
                let (bytes, format) = try retrieval.options.cacheSerializer.data(for: image, original: format)
                return ProcessedImage(image: image, bytes: bytes, format: format)
            }
            return (index, .success(made))
        } catch {
            return (index, .failure(KingfisherError(processing: error, identifier: retrieval.target.identifier)))
        }
    }

    private func failures(of node: VariantTree.Node, _ error: ImagingError) -> [Made] {
        node.leaves.map { index in
            (index, .failure(KingfisherError(processing: error, identifier: retrievals[index].target.identifier)))
        } + node.children.flatMap { failures(of: $0, error) }
    }

    private func work<Value: Sendable>(
        _ body: @escaping @Sendable () throws(ImagingError) -> Value
    ) async throws(ImagingError) -> Value {
        try await WorkerPool.processing.run { () throws(ImagingError) in try allowance.restarted.run(body) }
    }

    private func sideBySide<Item: Sendable>(
        _ items: [(Item, Image)], _ work: @escaping @Sendable (Item, Image) async -> [Made]
    ) async -> [Made] {
        await withTaskGroup(of: [Made].self) { group in
            for (item, image) in items { group.addTask { await work(item, image) } }
            return await group.reduce(into: []) { $0 += $1 }
        }
    }
}
