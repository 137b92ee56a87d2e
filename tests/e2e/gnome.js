/*
 * For org.gnome.Shell.Eval (desktop.bash, gnome): what the banner of GNOME Shell's message tray has on the screen, and a pointer of its
 * own. Only what is mapped counts: the parts of a collapsed banner exist too, but nobody sees them. The names are those of
 * GNOME Shell 43.
 */
(() => {
	const {Clutter, GLib, Pango} = imports.gi;

	function each(actor, visit) {
		if (!actor.mapped) return;
		visit(actor);
		actor.get_children().forEach(child => each(child, visit));
	}

	function middle(actor) {
		const [x, y] = actor.get_transformed_position(), [width, height] = actor.get_transformed_size();
		return {x: Math.round(x + width / 2), y: Math.round(y + height / 2)};
	}

	/* What is seen of a text: its lines down to the lower edge, but for the place of an ellipsis. */
	function seen({text, width, height, line_wrap}, layout) {
		layout.set_height(-1);
		layout.set_ellipsize(Pango.EllipsizeMode.NONE);
		layout.set_width(line_wrap ? width * Pango.SCALE : -1);
		const [all, down] = layout.get_pixel_size(), lines = layout.get_line_count();
		const fit = Math.floor((height + 1) * lines / down);
		if (!line_wrap && all > width + 1) return '';
		if (fit >= lines) return text;
		const iter = layout.get_iter(), bytes = new TextEncoder().encode(text);
		for (let line = 0; line < fit; line++) iter.next_line();
		const next = iter.get_index(), goes_on = bytes[next - 1] !== 10;
		return new TextDecoder().decode(bytes.slice(0, goes_on ? next - 4 : next - 1));
	}

	/* Each text, as far as it is seen, and each button. */
	function banner() {
		const texts = [], buttons = [];
		each(Main.messageTray._bannerBin, actor => {
			if (actor.style_class?.includes('notification-button'))
				buttons.push({label: actor.label, ...middle(actor)});
			else if (actor instanceof Clutter.Text && actor.text && !buttons.some(({label}) => label === actor.text))
				texts.push(seen(actor, actor.get_layout().copy()));
		});
		return {text: texts.join('\n').replaceAll('\u2060', ''), buttons};
	}

	/* What a click on a text would open in the browser (ui/messageList.js). */
	function links() {
		const found = [];
		each(Main.messageTray._bannerBin, ({_urls}) => found.push(...(_urls ?? []).map(({url}) => url)));
		return found;
	}

	function pointer() {
		const backend = global.stage.context?.get_backend() ?? Clutter.get_default_backend();
		global.sbx_pointer ??= backend.get_default_seat().create_virtual_device(Clutter.InputDeviceType.POINTER_DEVICE);
		return global.sbx_pointer;
	}

	function move(x, y) {
		pointer().notify_absolute_motion(GLib.get_monotonic_time(), x, y);
		return true;
	}

	function press(down) {
		const {PRESSED, RELEASED} = Clutter.ButtonState;
		pointer().notify_button(GLib.get_monotonic_time(), Clutter.BUTTON_PRIMARY, down ? PRESSED : RELEASED);
		return true;
	}

	/* A click so long after the banner has this text and buttons; global.sbx_pressed tells that it was made. */
	function press_when(text, ms) {
		global.sbx_pressed = false;
		GLib.timeout_add(GLib.PRIORITY_HIGH, 10, () => {
			const now = banner();
			if (!now.text.includes(text) || now.buttons.length === 0) return true;
			GLib.timeout_add(GLib.PRIORITY_HIGH, ms, () => {
				press(true);
				return false;
			});
			GLib.timeout_add(GLib.PRIORITY_HIGH, ms + 40, () => {
				press(false);
				global.sbx_pressed = true;
				return false;
			});
			return false;
		});
		return true;
	}

	return {banner, links, move, press, press_when};
})()
