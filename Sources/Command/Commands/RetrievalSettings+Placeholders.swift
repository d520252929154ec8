import KFCore

extension RetrievalSettings {
    /// The options of all that is retrieved of a source: its variants, then, with `--placeholder`, one for each picture
    /// that they show.
    ///
    /// A placeholder is an image of its own in the cache, which shares the variants' decode.
    var retrieved: [KingfisherOptions] {
        var retrieved = variants.map(\.options)
        guard let placeholder else { return retrieved }
        for variant in variants where variants.count + variant.picture == retrieved.count {
            var options = variant.options
            options.processor = placeholder.processor(
                after: variant.isWidth ? options.processor.droppingLast() : options.processor)
            options.cacheSerializer = PlaceholderSerializer(placeholder)
            retrieved.append(options)
        }
        return retrieved
    }

    /// Returns the placeholder of a variant; nil if there is none, or it cannot be read.
    func placeholder(of variant: Int, in results: [PrefetchResult]) -> String? {
        let index = form(of: variant)
        guard results.indices.contains(index), case .success(let image) = results[index].image else { return nil }
        return value { () throws(KingfisherError) in try image.loadData() }
    }

    func placeholder(of variant: Int, in images: [RetrieveImageResult]) -> String? {
        let index = form(of: variant)
        guard images.indices.contains(index) else { return nil }
        return value { () throws(KingfisherError) in try images[index].loadData() }
    }

    func placeholder(of variant: Int, in files: [StoredFile]) -> String? {
        let index = form(of: variant)
        guard files.indices.contains(index) else { return nil }
        return value { () throws(KingfisherError) in try files[index].readAll() }
    }

    /// The place of a variant's placeholder in `retrieved`.
    private func form(of variant: Int) -> Int { variants.count + variants[variant].picture }

    private func value(_ read: () throws(KingfisherError) -> [UInt8]) -> String? {
        // The image itself is there: a placeholder that has just been evicted is no failure.
        do throws(KingfisherError) { return PlaceholderSerializer.value(in: try read()) } catch { return nil }
    }
}
